"""A person decides, within a week: by the web interface, the command line or a program.

drumline dev examples/human_approval.py
python examples/human_approval.py                                 # prints the id of a task that waits
drumline tasks signal ID approved -p '{"by": "ada", "is_good": true}' --reason "read it twice"
"""

from dataclasses import dataclass

from drumline import Context, Drumline, SignalTimeout, inject

app = Drumline("press")


@dataclass
class Decision:
    by: str
    is_good: bool
    note: str = ""


def draft(article: int) -> str:
    return f"article {article}"


@app.task(name="press.publish")
async def publish(article: int, *, ctx: Context[None] = inject()) -> str:
    text = await ctx.step("draft", draft, article)
    try:
        decision = await ctx.wait_for("approved", Decision, timeout="7d")  # costs one row, and no worker
    except SignalTimeout:
        return f"{text} was put away: nobody looked at it"
    if not decision.is_good:
        return f"{text} was rejected by {decision.by}: {decision.note}"
    return await ctx.step("publish", lambda: f"{text} was published, approved by {decision.by}")


if __name__ == "__main__":
    print(publish.submit(7).id)
