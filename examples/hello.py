"""Hello world: a task with a typed result, one that is called off, and one that runs every five minutes.

drumline dev hello.py      in one terminal: server and worker
python hello.py            in another
"""

from datetime import timedelta

from drumline import Drumline

app = Drumline("hello")  # finds the running server by itself; DRUMLINE_URL names another


@app.task(max_attempts=3)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("adding", a, "and", b)
    return a + b


@app.cron("*/5 * * * *", tz="Europe/Berlin")
def tick() -> None:
    """Runs by itself: drumline schedules list."""
    add.submit(1, 1)


if __name__ == "__main__":
    task = add.submit(2, 3)
    print("follow it at", task.url)
    print("2 + 3 =", task.result(timeout=30))
    print("it said:", task.log().strip())

    later = add.options(delay=timedelta(minutes=1)).submit(4, 5)
    later.cancel()
    print("the one for later is", later.status())
