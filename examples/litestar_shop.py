"""The same with Litestar: `uvicorn examples.litestar_shop:web --port 8000`."""

from litestar import Litestar, get, post
from litestar.di import Provide

from drumline import Drumline
from drumline.contrib.asgi import dependency, lifespan

app = Drumline("shop")


@app.task(retries=3)
async def write_invoice(order: int) -> str:
    return f"invoice of order {order}"


@post("/orders/{order:int}/invoice", status_code=202)
async def request_invoice(order: int) -> dict[str, str]:
    handle = await write_invoice.options(key=f"invoice-{order}").asubmit(order)
    return {"task": handle.id}


@get("/invoices/{task:str}")
async def read_invoice(task: str, tasks: Drumline[None]) -> dict[str, object]:
    return {"text": await tasks.handle(task).aresult(timeout="10s")}


web = Litestar(
    [request_invoice, read_invoice],
    lifespan=[lifespan(app)],
    dependencies={"tasks": Provide(dependency(app), sync_to_thread=False)},
    logging_config=None,  # which is for the program that serves it
)
