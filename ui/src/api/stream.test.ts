// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type LiveEvent, type Liveness, Stream } from "./stream";

type Answer = { status?: number; text?: string; isOpen?: boolean; isAway?: boolean };

/** A server that gives the stream these answers, then the last one again and again, and answers probes as told. */
function server(...answers: Answer[]) {
  const asked: Record<string, string>[] = [];
  const probe = { status: 200 };
  const reach = ((address: string, init: RequestInit) => {
    if (address.endsWith("/alive")) {
      return probe.status ? Promise.resolve(new Response("", probe)) : Promise.reject(new TypeError("refused"));
    }
    asked.push(init.headers as Record<string, string>);
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? {};
    if (answer.isAway) return Promise.reject(new TypeError("refused"));
    const body = new ReadableStream<Uint8Array>({
      start(control) {
        if (answer.text) control.enqueue(new TextEncoder().encode(answer.text));
        if (!answer.isOpen) control.close();
        init.signal?.addEventListener("abort", () => control.error(new Error("aborted")));
      },
    });
    return Promise.resolve(new Response(answer.status === 503 ? null : body, { status: answer.status ?? 200 }));
  }) as unknown as typeof fetch;
  return { asked, reach, probe };
}

function event(id: string): string {
  return `id: ${id}\nevent: drumline.task.completed\ndata: {"id":"${id}","type":"drumline.task.completed","subject":"t"}\n\n`;
}

function heard(reach: typeof fetch) {
  const states: Liveness[] = [];
  const batches: LiveEvent[][] = [];
  const stream = new Stream(
    { address: "http://x/events", probe: "http://x/alive", headers: {} },
    { onEvents: (events) => batches.push(events), onState: (state) => states.push(state) },
    reach,
  );
  stream.start();
  return { stream, states, batches, kinds: () => states.map((state) => state.kind) };
}

const AWAY = { isAway: true };
const OPEN = { isOpen: true };

describe("the stream of events", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it("resumes after the last event when it was cut, and stays live if that works", async () => {
    const { asked, reach } = server({ text: event("1") + event("2") }, { text: event("3"), isOpen: true });
    const { stream, kinds, batches } = heard(reach);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(asked[1]?.["last-event-id"]).toBe("2");
    expect(batches.flat().map((one) => one.id)).toEqual(["1", "2", "3"]);
    expect(kinds()).toEqual(["live"]);
    stream.end();
  });

  it("passes on no message that is about the stream itself", async () => {
    const { reach } = server({ text: `event: cut\ndata: {"reason": "too slow"}\n\n${event("1")}` });
    const { stream, batches } = heard(reach);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(batches.flat().map((one) => one.type)).not.toContain(undefined);
    expect(batches.flat().length).toBe(1);
    stream.end();
  });

  it("says that the server is gone, since when, for as long as it does not answer", async () => {
    const { reach, probe } = server({ text: event("1") }, AWAY);
    probe.status = 0;
    const { stream, states, kinds, batches } = heard(reach);
    const began = Date.now();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(kinds()).toEqual(["live", "gone"]);
    expect(states.at(-1)).toMatchObject({ kind: "gone" });
    expect((states.at(-1) as { since: number }).since - began).toBeLessThan(3_000);
    expect(batches.flat().length).toBe(1);
    stream.end();
  });

  it("is live again within seconds of the server's return", async () => {
    const { reach, probe } = server(OPEN, ...Array(20).fill(AWAY), OPEN);
    probe.status = 0;
    const { stream, kinds } = heard(reach);
    await vi.advanceTimersByTimeAsync(10);
    await stream.check();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(kinds()).toEqual(["live", "gone", "live"]);
    stream.end();
  });

  it("gives up a connection that is open while the server does not answer", async () => {
    const { reach, probe } = server(OPEN, AWAY);
    const { stream, kinds } = heard(reach);
    await vi.advanceTimersByTimeAsync(10);
    await stream.check();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(kinds()).toEqual(["live"]);
    probe.status = 0;
    await stream.check();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(kinds()).toEqual(["live", "gone"]);
    stream.end();
  });

  it("polls a server that answers but gives no stream, says so, and stops polling when there is one", async () => {
    const { reach } = server(...Array(6).fill({ status: 503 }), OPEN);
    const { stream, kinds, batches } = heard(reach);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(kinds().at(-1)).toBe("polling");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(kinds().at(-1)).toBe("live");
    const count = batches.length;
    expect(count).toBeGreaterThan(0);
    expect(batches.every((events) => events.length === 0)).toBe(true);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(batches.length).toBe(count);
    stream.end();
  });

  it("does not say that it polls a server that has died", async () => {
    const { reach, probe } = server({ status: 404 });
    const { stream, kinds, batches } = heard(reach);
    await vi.advanceTimersByTimeAsync(11_000);
    expect(kinds()).toEqual(["polling"]);
    expect(batches.length).toBe(2);
    probe.status = 502; // a proxy in its place
    await vi.advanceTimersByTimeAsync(20_000);
    expect(kinds()).toEqual(["polling", "gone"]);
    expect(batches.length).toBe(2);
    probe.status = 200;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(kinds()).toEqual(["polling", "gone", "polling"]);
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
