/** Shared by every tab of this browser: one connection for all of them, since a browser has only about six to a server. */
import type { FromWorker, ToWorker } from "./live";
import { Stream } from "./stream";

const SILENT_MS = 60_000;
const LOOK_MS = 15_000;

interface Shared {
  stream: Stream;
  tabs: Map<MessagePort, number>;
}

const streams = new Map<string, Shared>();

function join(port: MessagePort, { source }: Extract<ToWorker, { kind: "join" }>): void {
  leave(port);
  const name = JSON.stringify(source);
  const known = streams.get(name);
  const tabs = known?.tabs ?? new Map<MessagePort, number>();
  tabs.set(port, Date.now());
  if (known) {
    tell([port], { kind: "state", state: known.stream.state });
    return;
  }
  const stream = new Stream(source, {
    onEvents: (events) => tell(tabs.keys(), { kind: "events", events }),
    onState: (state) => tell(tabs.keys(), { kind: "state", state }),
  });
  streams.set(name, { stream, tabs });
  stream.start();
}

function leave(port: MessagePort): void {
  for (const [name, shared] of streams) {
    if (!shared.tabs.delete(port) || shared.tabs.size > 0) continue;
    shared.stream.end();
    streams.delete(name);
  }
}

function tell(ports: Iterable<MessagePort>, message: FromWorker): void {
  for (const port of ports) port.postMessage(message);
}

function beat(port: MessagePort): void {
  for (const { tabs } of streams.values()) if (tabs.has(port)) tabs.set(port, Date.now());
}

function check(port: MessagePort): void {
  for (const { stream, tabs } of streams.values()) if (tabs.has(port)) void stream.check();
}

// A tab that crashed says no goodbye.
setInterval(() => {
  for (const { tabs } of [...streams.values()]) {
    for (const [port, at] of [...tabs]) if (Date.now() - at > SILENT_MS) leave(port);
  }
}, LOOK_MS);

self.addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (!port) return;
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.kind === "join") join(port, data);
    else if (data.kind === "leave") leave(port);
    else if (data.kind === "check") check(port);
    else beat(port);
  };
  tell([port], { kind: "ready" });
});
