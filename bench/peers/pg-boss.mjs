// pg-boss: large batches, several workers in a process, jobs inserted in bulk.
//
// Settings: https://timgit.github.io/pg-boss/#/./api/workers (batchSize; no pause after a full batch; polling no less than
// every half second) and https://timgit.github.io/pg-boss/#/./api/jobs (insert). Without its NOTIFY: that starts a lone
// job sooner, but submissions and the way from end to end are slower, with ten times as many commits.
import { main, require } from "./harness.mjs";

const { PgBoss = require("pg-boss") } = require("pg-boss");

const BATCH_SIZE = 1000;
const WORKERS = 2;
const CONNECTIONS = 16;
const POLLING_SECONDS = 0.5; // the least that it takes
const QUEUE = "noop";

const started = async (options = {}) => {
  const boss = new PgBoss({ connectionString: process.env.PEER_POSTGRES_URL, max: CONNECTIONS, ...options });
  boss.on("error", (error) => process.stderr.write(`${error}\n`));
  await boss.start();
  return boss;
};
const producing = { supervise: false, schedule: false, migrate: false };

await main({
  name: "pg-boss",

  async setup() {
    const boss = await started();
    await boss.createQueue(QUEUE);
    await boss.stop({ graceful: false });
  },

  async connect() {
    const boss = await started(producing);
    return {
      submit: (sentMs) => boss.send(QUEUE, { sentMs }),
      submitMany: (count) => boss.insert(QUEUE, Array.from({ length: count }, () => ({ data: { sentMs: 0 } }))),
      close: () => boss.stop({ graceful: false }),
    };
  },

  async work(tally) {
    const boss = await started();
    const options = { batchSize: BATCH_SIZE, burstWhenBatchFull: true, pollingIntervalSeconds: POLLING_SECONDS };
    for (let worker = 0; worker < WORKERS; worker += 1) {
      await boss.work(QUEUE, options, async (jobs) => {
        for (const job of jobs) tally.count(job.data.sentMs);
      });
    }
    process.on("SIGTERM", () => process.exit(0));
  },
});
