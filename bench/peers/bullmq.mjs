// BullMQ: many jobs at once, finished jobs removed.
//
// Settings: https://docs.bullmq.io/guide/workers/concurrency (a high concurrency factor for jobs that only wait) and
// https://docs.bullmq.io/guide/queues/auto-removal-of-jobs.
import { main, require } from "./harness.mjs";

const { Queue, Worker } = require("bullmq");

const CONCURRENCY = 300;

const { hostname: host, port } = new URL(process.env.PEER_REDIS_URL ?? "redis://127.0.0.1:6379");
const connection = { host, port: Number(port), maxRetriesPerRequest: null };

await main({
  name: "bullmq",
  setup: () => undefined,

  async connect() {
    const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
    const queue = new Queue("peer", { connection, defaultJobOptions });
    await queue.waitUntilReady();
    return {
      submit: (sentMs) => queue.add("noop", { sentMs }),
      submitMany: (count) => queue.addBulk(Array.from({ length: count }, () => ({ name: "noop", data: { sentMs: 0 } }))),
      close: () => queue.close(),
    };
  },

  work(tally) {
    const noop = async (job) => tally.count(job.data.sentMs);
    const worker = new Worker("peer", noop, { connection, concurrency: CONCURRENCY });
    worker.on("error", (error) => process.stderr.write(`${error}\n`));
    process.on("SIGTERM", () => worker.close(true).then(() => process.exit(0)));
  },
});
