// Graphile Worker: local queue and batched completion.
//
// Settings: https://worker.graphile.org/docs/performance; the numbers are those of the project's own performance test
// (perfTest/graphile.config.js), but for the size of the local queue: the description of `localQueue.size` (src/index.ts)
// says that a much higher one may make sense where tasks are fast and many. With 5,000 instead of 500 a drain took half
// the processor time: there are fewer fetches, and each costs more the more jobs have ended before it.
import { main, require } from "./harness.mjs";

const { Logger, makeWorkerUtils, run, runMigrations } = require("graphile-worker");

const CONCURRENT_JOBS = 24;
const PRODUCER_CONNECTIONS = 16;
const LOCAL_QUEUE = 5000;

const connectionString = process.env.PEER_POSTGRES_URL;
const quiet = new Logger(() => (level, message) => {
  if (level === "error") process.stderr.write(`${message}\n`);
});
const preset = {
  worker: {
    connectionString,
    concurrentJobs: CONCURRENT_JOBS,
    maxPoolSize: CONCURRENT_JOBS + 1,
    localQueue: { size: LOCAL_QUEUE, refetchDelay: { durationMs: 10 } },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    logger: quiet,
  },
};

await main({
  name: "graphile-worker",
  setup: () => runMigrations({ preset }),

  async connect() {
    const utils = await makeWorkerUtils({ preset: { worker: { ...preset.worker, maxPoolSize: PRODUCER_CONNECTIONS } } });
    return {
      submit: (sentMs) => utils.addJob("noop", { sentMs }),
      submitMany: (count) => utils.addJobs(Array.from({ length: count }, () => ({ identifier: "noop", payload: { sentMs: 0 } }))),
      close: () => utils.release(),
    };
  },

  async work(tally) {
    const noop = async (payload) => tally.count(payload.sentMs);
    const runner = await run({ preset, taskList: { noop } });
    await runner.promise;
  },
});
