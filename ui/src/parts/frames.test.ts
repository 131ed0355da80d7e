import { describe, expect, it } from "vitest";
import { framesOf } from "./frames";

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
});
