"""A web application with FastAPI that hands work to Drumline.

drumline dev examples/fastapi_shop.py          # serves the task
uvicorn examples.fastapi_shop:web --port 8000  # serves the pages

curl -X POST http://127.0.0.1:8000/orders/7/invoice
"""

from typing import Annotated

from fastapi import Depends, FastAPI

from drumline import Drumline, DrumlineError
from drumline.contrib.asgi import answer_error, dependency, lifespan

app = Drumline("shop")
web = FastAPI(lifespan=lifespan(app), exception_handlers={DrumlineError: answer_error})
Tasks = Annotated[Drumline[None], Depends(dependency(app))]


@app.task(retries=3)
async def write_invoice(order: int) -> str:
    return f"invoice of order {order}"


@web.post("/orders/{order}/invoice", status_code=202)
async def request_invoice(order: int) -> dict[str, str]:
    handle = await write_invoice.options(key=f"invoice-{order}").asubmit(order)
    return {"task": handle.id}


@web.get("/invoices/{task}")
async def read_invoice(task: str, tasks: Tasks) -> dict[str, object]:
    return {"text": await tasks.handle(task).aresult(timeout="10s")}
