// What the peers in Node share: the commands of harness.py, and the tally that their tasks keep.
//
// Run with the folder that holds node_modules as the working directory.
import { ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const require = createRequire(join(process.cwd(), "/"));
export const nowMs = () => performance.timeOrigin + performance.now();

const BATCH = 1000;
const THREADS = 256; // the layout of a tally file: see harness.py
const CELLS = THREADS + 1 + 16_384;
const CELL_BYTES = 8;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
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

/**
 * Answer one command. `peer` has `name`, its package; `setup()`; `connect()`, which gives `submit(sentMs)`,
 * `submitMany(count)` and `close()`; and `work(tally)`.
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
    version: () => reply(JSON.parse(readFileSync(join(process.cwd(), "node_modules", peer.name, "package.json"))).version),
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
      producing(async (producer, began) => {
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
  };
  const [command, ...numbers] = process.argv.slice(2);
  await commands[command](...numbers.map(Number));
}
