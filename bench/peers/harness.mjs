// What the peers in Node share: the commands of harness.py, and the tally that their tasks keep.
//
// Run with the folder that holds node_modules as the working directory.
import { spawn } from "node:child_process";
import { ftruncateSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const require = createRequire(join(process.cwd(), "/"));
export const nowMs = () => performance.timeOrigin + performance.now();

/** For a peer that has a server: free ports on the loopback address, the folder it was installed in; which worker this is. */
export const ports = (process.env.PEER_PORTS ?? "").split(",").filter(Boolean).map(Number);
export const serverFolder = process.env.PEER_SERVER;
export const number = Number(process.env.PEER_NUMBER ?? 0);

const BATCH = 1000;
const THREADS = 256; // the layout of a tally file: see harness.py
const CELLS = THREADS + 1 + 16_384;
const CELL_BYTES = 8;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const reply = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

/** Completions of this worker, written once per turn of the event loop. */
export class Tally {
  constructor() {
    this.cells = new Float64Array(CELLS);
    this.dirty = false;
    this.file = openSync(join(process.env.PEER_TALLY_DIR, `${process.pid}.tally`), "w");
    ftruncateSync(this.file, CELLS * CELL_BYTES);
  }

  count(sentMs) {
    if (sentMs) {
      const kept = this.cells[THREADS];
      this.cells[THREADS + 1 + kept] = nowMs() - sentMs;
      this.cells[THREADS] = kept + 1;
    }
    this.cells[0] += 1;
    if (!this.dirty) {
      this.dirty = true;
      setImmediate(() => this.write());
    }
  }

  write() {
    this.dirty = false;
    const used = (THREADS + 1 + this.cells[THREADS]) * CELL_BYTES;
    writeSync(this.file, new Uint8Array(this.cells.buffer, 0, used), 0, used, 0);
  }
}

/** Run a server in a folder of its own, say that it is ready once `prepare` has returned, and wait for SIGTERM. */
export async function attend(command, args, prepare) {
  const folder = process.env.PEER_TALLY_DIR;
  const server = spawn(command, args, { cwd: folder, stdio: "inherit" });
  server.on("exit", (code) => process.exit(code ?? 0));
  process.on("SIGTERM", () => server.kill("SIGTERM"));
  await prepare();
  writeFileSync(join(folder, "ready"), "");
}

/** Try `call` until it throws nothing. */
export async function until(call, seconds = 60) {
  const deadline = nowMs() + seconds * 1e3;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (nowMs() > deadline) throw error;
      await sleep(200);
    }
  }
}

/**
 * Answer one command. `peer` has `name`, its package, and its `folder`, if that is elsewhere; `setup()`; `connect()`, which
 * gives `submit(sentMs)`, `close()` and, unless the peer `hasNoBulk`, `submitMany(count)`; `work(tally)`; and `attend()`,
 * if it has a server.
 */
export async function main(peer) {
  const producing = async (produce) => {
    const producer = await peer.connect();
    const began = nowMs();
    const count = await produce(producer, began);
    reply({ count, seconds: (nowMs() - began) / 1e3, began_ns: began * 1e6 });
    await producer.close();
  };
  const commands = {
    version: () => reply(JSON.parse(readFileSync(join(peer.folder ?? process.cwd(), "node_modules", peer.name, "package.json"))).version),
    setup: () => peer.setup(),
    enqueue: (limit, seconds, inFlight) =>
      producing(async (producer, began) => {
        let count = 0;
        const submitInTurn = async () => {
          while (count < limit && nowMs() - began < seconds * 1e3) {
            count += 1;
            await producer.submit(0);
          }
        };
        await Promise.all(Array.from({ length: inFlight }, submitInTurn));
        return count;
      }),
    bulk: (limit, seconds) =>
      peer.hasNoBulk ? reply(null) : producing(async (producer, began) => {
        let count = 0;
        while (count < limit && nowMs() - began < seconds * 1e3) {
          const size = Math.min(BATCH, limit - count);
          await producer.submitMany(size);
          count += size;
        }
        return count;
      }),
    paced: (rate, seconds) =>
      producing(async (producer, began) => {
        const count = Math.floor(rate * seconds);
        for (let turn = 0; turn < count; turn += 1) {
          await sleep(Math.max(0, began + (turn * 1e3) / rate - nowMs()));
          await producer.submit(nowMs());
        }
        return count;
      }),
    worker: () => peer.work(new Tally()),
    attendant: () => peer.attend(),
  };
  const [command, ...numbers] = process.argv.slice(2);
  await commands[command](...numbers.map(Number));
}
