"""A task for each item of a list that only a task knows.

    drumline dev fan_out.py      in one terminal: the server, and a worker that has these tasks
    python fan_out.py            in another

The node of `dag.map` is one task of the job. When it runs it starts a task for each item as its children, at most 20 of
them at a time. If some fail, `job.resume()` runs those again and no others.
"""

from dataclasses import dataclass

from drumline import Dag, Drumline

app = Drumline("pictures")


@dataclass
class Thumbnail:
    path: str
    bytes: int


@app.task
def find_pictures(folder: str) -> list[str]:
    return [f"{folder}/{number}.jpg" for number in range(50)]


@app.task
def shrink(path: str, width: int = 100) -> Thumbnail:
    return Thumbnail(path.replace(".jpg", f"-{width}.jpg"), width * 10)


@app.task
def index(thumbnails: list[Thumbnail]) -> str:
    return f"{len(thumbnails)} thumbnails, {sum(each.bytes for each in thumbnails)} bytes"


def album(folder: str) -> Dag:
    with app.dag("album", owner="pictures") as dag:
        paths = dag.add(find_pictures, folder)
        thumbnails = dag.options(window=20).map(shrink, paths.out, width=64)
        dag.add(index, thumbnails.out)
    return dag


if __name__ == "__main__":
    print(album("/holidays").submit().result(timeout=60)["index"])
