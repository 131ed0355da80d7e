// BullMQ: many jobs at once, finished jobs removed. Answers the commands of harness.py.
//
// Run with the folder that holds node_modules as the working directory.
import { ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "/"));
const { Queue, Worker } = require("bullmq");

const BATCH = 1000;
const CONCURRENCY = 300;
const THREADS = 256; // the layout of a tally file: see harness.py
const CELLS = THREADS + 1 + 16_384;
const CELL_BYTES = 8;

const { hostname: host, port } = new URL(process.env.PEER_REDIS_URL ?? "redis://127.0.0.1:6379");
const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const nowMs = () => performance.timeOrigin + performance.now();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const reply = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

/** Completions of this worker, written once per turn of the event loop. */
class Tally {
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

async function producing(produce) {
  const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
  const queue = new Queue("peer", { connection, defaultJobOptions });
  await queue.waitUntilReady();
  const began = nowMs();
  const count = await produce(queue, began);
  reply({ count, seconds: (nowMs() - began) / 1e3, began_ns: began * 1e6 });
  await queue.close();
}

function enqueue(limit, seconds, inFlight) {
  return producing(async (queue, began) => {
    let count = 0;
    const submitInTurn = async () => {
      while (count < limit && nowMs() - began < seconds * 1e3) {
        count += 1;
        await queue.add("noop", { sentMs: 0 });
      }
    };
    await Promise.all(Array.from({ length: inFlight }, submitInTurn));
    return count;
  });
}

function bulk(limit, seconds) {
  return producing(async (queue, began) => {
    let count = 0;
    while (count < limit && nowMs() - began < seconds * 1e3) {
      const size = Math.min(BATCH, limit - count);
      await queue.addBulk(Array.from({ length: size }, () => ({ name: "noop", data: { sentMs: 0 } })));
      count += size;
    }
    return count;
  });
}

function paced(rate, seconds) {
  return producing(async (queue, began) => {
    const count = Math.floor(rate * seconds);
    for (let turn = 0; turn < count; turn += 1) {
      await sleep(Math.max(0, began + (turn * 1e3) / rate - nowMs()));
      await queue.add("noop", { sentMs: nowMs() });
    }
    return count;
  });
}

function work() {
  const tally = new Tally();
  const noop = async (job) => tally.count(job.data.sentMs);
  const worker = new Worker("peer", noop, { connection, concurrency: CONCURRENCY });
  worker.on("error", (error) => process.stderr.write(`${error}\n`));
  process.on("SIGTERM", () => worker.close(true).then(() => process.exit(0)));
}

const [command, ...numbers] = process.argv.slice(2);
const commands = {
  version: () => reply(JSON.parse(readFileSync(join(process.cwd(), "node_modules/bullmq/package.json"))).version),
  setup: () => undefined,
  enqueue,
  bulk,
  paced,
  worker: work,
};
await commands[command](...numbers.map(Number));
