"""A pipeline of shell tasks: each one works on what the one before has printed.

    drumline dev                     in one terminal: `drumline dev` runs shell tasks; elsewhere DRUMLINE_ALLOW_SHELL=1
    python shell_pipeline.py         in another

A program and its arguments are a list that no shell touches; a text for the shell is a choice that one writes down.
"""

from drumline import Drumline, TaskFailed

app = Drumline("pipeline")


def run(name: str, *, stdin: str = "", **how: object) -> str:
    """Run one stage on a worker and return what it printed."""
    task = app.submit_task("shell", {**how, "stdin": stdin}, timeout="30s", retries=2, tags=["pipeline", name])
    output: str = task.result(timeout=60)["stdout"]
    print(f"{name:8} {task.id}  {len(output.splitlines())} lines")
    return output


if __name__ == "__main__":
    drums = run("produce", command=["printf", "%s\n", "snare", "tenor", "bass", "snare", "cymbal", "snare"])
    counted = run("count", shell="sort | uniq -c | sort -rn", stdin=drums)
    top = run("top", command=["head", "-n", "1"], stdin=counted)
    print("most beaten:", top.split()[1])

    try:
        app.submit_task("shell", {"command": ["false"]}, retries=0).result(timeout=60)
    except TaskFailed as error:
        print("a stage that fails says why:", error.remote_message.splitlines()[0])
