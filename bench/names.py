"""What a million distinct names of tasks, queues and tags cost: python -m bench.names [COUNT]

Submits tasks of which each has a name, a queue and a tag of its own, to SQLite in a process of its own, and prints the
processor time and the memory of the process as it goes.
"""

import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

from drumline.core.errors import Invalid
from drumline.core.task import TaskRequest
from drumline.settings.fields import Settings
from drumline.wiring import wire

COUNT = 1_000_000
AT_ONCE = 10_000
LINES = 10


def resident() -> int:
    """Return the memory that the process has now, in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() // 1_000_000


async def run(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        engine = (await wire(Settings(data=Path(folder)))).engine
        began, refused = time.process_time(), 0
        print(f"{'names':>10}  {'MB':>5}  {'processor s':>11}")
        for start in range(0, count, AT_ONCE):
            numbers = range(start, start + AT_ONCE)
            answers = await engine.submissions.submit_many(
                [TaskRequest(name=f"name-{n}", queue=f"queue-{n}", tags=(f"tag-{n}",)) for n in numbers]
            )
            refused += sum(isinstance(answer, Invalid) for answer in answers)
            done = start + AT_ONCE
            if done % max(count // LINES, AT_ONCE) == 0:
                print(f"{done:>10,}  {resident():>5}  {time.process_time() - began:>11.1f}")
        try:
            await engine.submissions.submit(TaskRequest(name="one-more"))
        except Invalid as error:
            print(f"one more: {error}")
        print(f"refused: {refused:,}")
        await engine.close()


if __name__ == "__main__":
    asyncio.run(run(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT))
