"""The same with Flask, by the blocking calls: `flask --app examples/flask_shop.py run --port 8000`."""

from flask import Flask
from flask.typing import ResponseReturnValue

from drumline import Drumline, NotFound, Unavailable, WaitTimeout

app = Drumline("shop")
web = Flask(__name__)


@app.task(retries=3)
def write_invoice(order: int) -> str:
    return f"invoice of order {order}"


@web.post("/orders/<int:order>/invoice")
def request_invoice(order: int) -> ResponseReturnValue:
    handle = write_invoice.options(key=f"invoice-{order}").submit(order)
    return {"task": handle.id}, 202


@web.get("/invoices/<task>")
def read_invoice(task: str) -> ResponseReturnValue:
    return {"text": app.handle(task).result(timeout="10s")}


@web.errorhandler(NotFound)
def not_found(error: NotFound) -> ResponseReturnValue:
    return {"detail": str(error)}, 404


@web.errorhandler(Unavailable)
@web.errorhandler(WaitTimeout)
def not_now(error: Exception) -> ResponseReturnValue:
    return {"detail": str(error)}, 503
