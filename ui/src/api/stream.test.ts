// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type LiveEvent, type Liveness, Stream } from "./stream";

type Answer = { status?: number; text?: string; isOpen?: boolean };

function server(...answers: Answer[]) {
  const asked: Record<string, string>[] = [];
  const reach = ((_address: string, init: RequestInit) => {
    asked.push(init.headers as Record<string, string>);
    const answer = answers.shift() ?? { status: 503 };
    const body = new ReadableStream<Uint8Array>({
      start(control) {
        if (answer.text) control.enqueue(new TextEncoder().encode(answer.text));
        if (!answer.isOpen) control.close();
      },
    });
    return Promise.resolve(new Response(answer.status === 503 ? null : body, { status: answer.status ?? 200 }));
  }) as unknown as typeof fetch;
  return { asked, reach };
}

function event(id: string): string {
  return `id: ${id}\nevent: drumline.task.completed\ndata: {"id":"${id}","type":"drumline.task.completed","subject":"t"}\n\n`;
}

function heard(reach: typeof fetch) {
  const states: Liveness["kind"][] = [];
  const batches: LiveEvent[][] = [];
  const stream = new Stream(
    { address: "http://x/events", headers: {} },
    { onEvents: (events) => batches.push(events), onState: (state) => states.push(state.kind) },
    reach,
  );
  stream.start();
  return { stream, states, batches };
}

describe("the stream of events", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it("resumes after the last event when it was cut", async () => {
    const { asked, reach } = server({ text: event("1") + event("2") }, { text: event("3"), isOpen: true });
    const { stream, states, batches } = heard(reach);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(asked[1]?.["last-event-id"]).toBe("2");
    expect(batches.flat().map((one) => one.id)).toEqual(["1", "2", "3"]);
    expect(states).toEqual(["live", "gone", "live"]);
    stream.end();
  });

  it("polls after three failures, says so, and stops polling when it is back", async () => {
    const { reach } = server({ status: 503 }, { status: 503 }, { status: 503 }, { isOpen: true });
    const { stream, states, batches } = heard(reach);
    await vi.advanceTimersByTimeAsync(3_100);
    expect(states.at(-1)).toBe("polling");
    await vi.advanceTimersByTimeAsync(30_000);
    expect(states.at(-1)).toBe("live");
    const count = batches.length;
    expect(batches.every((events) => events.length === 0)).toBe(true);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(batches.length).toBe(count);
    stream.end();
  });

  it("hears nothing once it has ended", async () => {
    const { reach } = server({ text: event("1"), isOpen: true });
    const { stream, batches } = heard(reach);
    await vi.advanceTimersByTimeAsync(10);
    stream.end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(batches).toEqual([]);
  });

  it("looks again at everything when the server asks for it", async () => {
    const { reach } = server({ text: "event: resync\ndata: {}\n\n", isOpen: true });
    const { stream, batches } = heard(reach);
    await vi.advanceTimersByTimeAsync(10);
    expect(batches).toEqual([[]]);
    stream.end();
  });
});
