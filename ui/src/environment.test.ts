// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { environmentOf } from "./environment";

function page(head: string): Document {
  return new DOMParser().parseFromString(`<html><head>${head}</head></html>`, "text/html");
}

describe("the environment", () => {
  it("is what the server wrote into the page", () => {
    const found = environmentOf(page('<meta name="drumline-environment" content="production" data-colour="red">'));
    expect(found).toEqual({ name: "production", colour: "red" });
  });

  it("is nothing unless it has a name", () => {
    expect(environmentOf(page(""))).toBe(null);
  });
});
