import { describe, expect, it } from "vitest";
import { chainOf, framesOf } from "./frames";

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
});
