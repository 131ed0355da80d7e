"""Drumline in FastAPI, Starlette and Litestar: a lifespan, a dependency, and answers for errors.

    app = Drumline("shop")
    web = FastAPI(lifespan=lifespan(app), exception_handlers={DrumlineError: answer_error})

Nothing of these frameworks but Starlette, which Drumline's own server uses, is imported here.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse

from drumline.core.errors import DrumlineError, Invalid, NotFound, Overloaded, Unavailable
from drumline.sdk.app import Drumline
from drumline.sdk.errors import NoServer, WaitTimeout

Lifespan = Callable[[Any], AbstractAsyncContextManager[Any]]

_STATUS: Final[tuple[tuple[type[DrumlineError], int], ...]] = (
    (NotFound, 404),
    (Invalid, 422),
    (WaitTimeout, 504),
    (Overloaded, 503),
    (Unavailable, 503),
    (NoServer, 503),
)
"""What a web application answers; every other error is a fault of its own: its key, or how it calls Drumline."""


def lifespan(*apps: Drumline[Any], around: Lifespan | None = None) -> Lifespan:
    """Return a lifespan that keeps apps connected while the web application runs.

    It suits `FastAPI(lifespan=…)`, `Starlette(lifespan=…)` and `Litestar(lifespan=[…])`. A lifespan of the
    application's own is given as `around`; what it yields is yielded.
    """

    @asynccontextmanager
    async def connected(web: Any) -> AsyncIterator[Any]:
        async with AsyncExitStack() as stack:
            for app in apps:
                await stack.enter_async_context(app.connected())
            yield None if around is None else await stack.enter_async_context(around(web))

    return connected


def dependency(app: Drumline[Any]) -> Callable[[], Drumline[Any]]:
    """Return a dependency that gives the app: `Depends(…)` in FastAPI, `Provide(…)` in Litestar.

    Tests replace it (`web.dependency_overrides`) with one that gives an app of their own.
    """

    def provide() -> Drumline[Any]:
        return app

    return provide


async def answer_error(_request: Request, error: Exception) -> JSONResponse:
    """Answer an error of Drumline: 503 if it cannot be reached, 404 if there is no such task, 500 if it is our own."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    code = getattr(error, "code", "internal") if status != 500 else "internal"
    detail = str(error) if status != 500 else "the task could not be submitted"
    return JSONResponse({"detail": detail, "code": code}, status_code=status)
