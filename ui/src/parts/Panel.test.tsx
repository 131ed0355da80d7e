// @vitest-environment jsdom
import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Panel } from "./Panel";

/** The name that a screen reader tells of a panel. */
function nameOf(panel: ReactNode): string | null {
  document.body.innerHTML = renderToStaticMarkup(panel);
  const section = document.querySelector("section");
  const heading = section?.getAttribute("aria-labelledby");
  return heading
    ? (document.getElementById(heading)?.textContent ?? null)
    : (section?.getAttribute("aria-label") ?? null);
}

describe("a panel is named", () => {
  it("by its heading, also where that is a link", () => {
    expect(nameOf(<Panel title="Latest tasks">…</Panel>)).toBe("Latest tasks");
    expect(nameOf(<Panel title={<a href="/workers/w">ada:7</a>}>…</Panel>)).toBe("ada:7");
  });

  it("by its label before its heading", () => {
    expect(nameOf(<Panel label="Facts">…</Panel>)).toBe("Facts");
    expect(
      nameOf(
        <Panel title={<b>ada</b>} label="Worker ada">
          …
        </Panel>,
      ),
    ).toBe("Worker ada");
  });

  it("not at all without either", () => {
    expect(nameOf(<Panel>…</Panel>)).toBeNull();
  });
});
