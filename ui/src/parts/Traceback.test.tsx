// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { describe, expect, it } from "vitest";
import type { ErrorBody } from "@/api/types";
import { Traceback } from "./Traceback";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

function shown(traceback: string, message = "no"): HTMLElement {
  const box = document.createElement("div");
  const error: ErrorBody = { kind: "ValueError", message, traceback };
  act(() => createRoot(box).render(<Traceback error={error} />));
  return box;
}

describe("a traceback", () => {
  it("that is long shows both of its ends, and all of it on request", () => {
    const box = shown(Array.from({ length: 60 }, (_, n) => `  File "/app/a.py", line ${n}, in f`).join("\n"));
    expect(box.querySelectorAll("b")).toHaveLength(9);

    const button = [...box.querySelectorAll("button")].find((one) => one.textContent === "Show 51 more frames");
    act(() => button?.click());

    expect(box.querySelectorAll("b")).toHaveLength(60);
  });

  it.each([
    ["characters", "word ".repeat(400)],
    ["lines", "line\n".repeat(40)],
  ])("with a message of many %s shows its beginning, and all of it on request", (_, message) => {
    const box = shown("", message);
    expect(box.querySelector("span")?.textContent?.length).toBeLessThan(700);

    act(() => box.querySelector<HTMLButtonElement>("span button")?.click());

    expect(box.querySelector("span")?.textContent).toBe(message);
  });

  it("of a group shows the errors in it", () => {
    const box = shown(`  File "/app/a.py", line 4, in many
ExceptionGroup: two failed (2 sub-exceptions)
  +---------------- 1 ----------------
  | ValueError: one
  +---------------- 2 ----------------
  | KeyError: 'two'
`);
    expect(box.querySelector("pre")?.textContent).toContain("| KeyError: 'two'");
  });
});
