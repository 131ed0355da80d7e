"""The app of real worker processes: a task that does nothing."""

from drumline.sdk.app import Drumline

app = Drumline("bench")


@app.task(name="noop")
async def noop(sent_ns: int) -> None:
    """Do nothing."""
