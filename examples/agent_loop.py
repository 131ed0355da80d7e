"""An agent: a model that thinks and calls tools, each call a step, within a budget of tokens.

After a crash nothing that was paid for is asked again: answers of the model and of tools come from their records.

    drumline dev examples/agent_loop.py
    python examples/agent_loop.py
"""

from collections.abc import Callable
from dataclasses import dataclass

from drumline import Context, Drumline, StepFailed, inject

app = Drumline("agents")


@dataclass
class Reply:
    text: str
    tokens: int
    tool: str | None = None
    argument: str = ""


def ask_model(messages: list[str]) -> Reply:
    """Stands for a model: put the call of your provider here."""
    if len(messages) == 1:
        return Reply("I need the weather", 120, tool="weather", argument="Oslo")
    if len(messages) == 2:
        return Reply("and the time", 150, tool="clock", argument="Oslo")
    return Reply(f"You asked {messages[0]!r}: {'; '.join(messages[1:])}", 200)


def weather(place: str) -> str:
    return f"it rains in {place}"


def clock(place: str) -> str:
    return f"it is noon in {place}"


TOOLS: dict[str, Callable[[str], str]] = {"weather": weather, "clock": clock}


@app.task(name="agents.answer")
async def answer(question: str, budget: int = 1000, *, ctx: Context[None] = inject()) -> str:
    messages, spent = [question], 0
    for turn in range(20):
        reply = await ctx.step("think", ask_model, messages, key=turn, retries=5)
        spent += reply.tokens
        if reply.tool is None:
            return reply.text
        if spent >= budget:
            return f"stopped: {spent} of {budget} tokens are spent"
        try:
            messages.append(await ctx.step(f"use {reply.tool}", TOOLS[reply.tool], reply.argument, key=turn, retries=2))
        except StepFailed as failed:  # the model is told, and may try something else
            messages.append(str(failed))
    return "gave up after 20 turns"


if __name__ == "__main__":
    print(answer.submit("Do I need an umbrella?").result(timeout="1m"))
