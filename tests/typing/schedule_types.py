"""What type checkers see of schedules in code. Never run: `mypy` and pyright read it."""

from datetime import timedelta
from typing import assert_type

from drumline import AsyncTask, Drumline, Task

app = Drumline("app")


@app.cron("30 9 * * MON-FRI", tz="Europe/Berlin", overlap="skip", catch_up="all")
def report() -> int:
    return 1


@app.every(timedelta(minutes=5))
async def sweep() -> str:
    return ""


@app.cron("@daily", arguments={"region": "eu"})
@app.task(queue="mail")
def send(region: str) -> None: ...


assert_type(report, Task[[], int])
assert_type(sweep, AsyncTask[[], str])
assert_type(send("eu"), None)


def mistakes() -> None:
    app.cron("@daily", overlap="sometimes")  # type: ignore[arg-type]
    app.cron("@daily", timezone="UTC")  # type: ignore[call-arg]
    app.cron(5)  # type: ignore[arg-type]
    send.submit(1)  # type: ignore[call-overload]
