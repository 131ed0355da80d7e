import { describe, expect, it } from "vitest";
import { chainOf, endsOf, framesOf } from "./frames";

const TRACEBACK = `Traceback (most recent call last):
  File "/app/venv/lib/python3.11/site-packages/httpx/_client.py", line 10, in send
    raise error
  File "/app/shop/charge.py", line 42, in charge
    pay(order)
    ^^^^^^^^^^
ValueError: no money`;

describe("tracebacks", () => {
  it("are split into frames, libraries told apart", () => {
    const frames = framesOf(TRACEBACK);
    expect(frames.map((frame) => [frame.line, frame.isLibrary, frame.code])).toEqual([
      [10, true, "raise error"],
      [42, false, "pay(order)"],
    ]);
  });

  it("of other languages are left alone", () => {
    expect(framesOf("exit code 1\nhello")).toEqual([]);
  });

  it("of a chain begin with the root cause", () => {
    const chain = chainOf(`Traceback (most recent call last):
  File "/app/shop/pay.py", line 3, in pay
    raise Refused("card declined")
shop.Refused: card declined

The above exception was the direct cause of the following exception:

${TRACEBACK}`);
    expect(chain.map((link) => [link.title, link.after, link.frames.length])).toEqual([
      ["shop.Refused: card declined", null, 1],
      ["", "cause", 2],
    ]);
  });

  it("say what was left out of a recursion", () => {
    const frames = framesOf(`Traceback (most recent call last):
  File "/app/a.py", line 35, in loop
    loop(n + 1)
  [Previous line repeated 36 more times]
  [892 frames left out]
  File "/app/a.py", line 35, in loop
    loop(n + 1)
RecursionError: maximum recursion depth exceeded`);
    expect(frames.map((frame) => [frame.code, frame.after])).toEqual([
      ["loop(n + 1)", "Previous line repeated 36 more times, 892 frames left out"],
      ["loop(n + 1)", undefined],
    ]);
  });

  it("keep the errors of an exception group, and no frames of theirs", () => {
    const chain = chainOf(`Traceback (most recent call last):
  File "/app/a.py", line 4, in many
    raise ExceptionGroup("two failed", errors)
ExceptionGroup: two failed (2 sub-exceptions)
  +---------------- 1 ----------------
  | Traceback (most recent call last):
  |   File "/app/a.py", line 2, in one
  | ValueError: one
  +---------------- 2 ----------------
  | KeyError: 'two'
`);
    expect(chain).toHaveLength(1);
    expect(chain[0]?.frames.map((frame) => frame.name)).toEqual(["many"]);
    expect(chain[0]?.members).toContain("| ValueError: one");
    expect(chain[0]?.members.endsWith("| KeyError: 'two'")).toBe(true);
  });

  it("show both ends when they are long", () => {
    const steps = (count: number) =>
      framesOf(Array.from({ length: count }, (_, n) => `  File "/app/a.py", line ${n}, in f`).join("\n"));
    const { head, hidden, tail } = endsOf(steps(60));
    expect([head.map((frame) => frame.line), hidden, tail.map((frame) => frame.line)]).toEqual([
      [0, 1, 2],
      51,
      [54, 55, 56, 57, 58, 59],
    ]);
    expect(endsOf(steps(12))).toMatchObject({ hidden: 0, tail: [] });
  });
});
