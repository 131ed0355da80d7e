// Restate: its server on one node, which pushes to services over HTTP/2; each worker serves a service of its own, and
// submissions go to them by turns. There is no call for many at once.
//
// Settings: https://docs.restate.dev/develop/ts/serving, https://docs.restate.dev/develop/ts/service-clients (`sendClient`)
// and https://docs.restate.dev/references/server-config: those of one node are its defaults (its log is written through to
// the disk). Only the longest delay of a retry is shorter, so that a backlog begins when its workers do. The SDK needs a
// newer Node.js than some machines have: one comes with its packages.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import http2 from "node:http2";
import { join } from "node:path";

import { attend, main, number, ports, require, serverFolder, sleep, until } from "./harness.mjs";

const WORKERS = 2;
const [ingressPort, adminPort, nodePort, ...workerPorts] = ports;
const HOST = "127.0.0.1";

const service = (place, tally) =>
  require("@restatedev/restate-sdk").service({
    name: `noop${place}`,
    handlers: { run: async (_, sentMs) => tally.count(sentMs) },
    options: { retryPolicy: { initialInterval: 500, maxInterval: 1000 } },
  });

const config = `
node-name = "bench"
base-dir = "data"
bind-address = "${HOST}:${nodePort}"
advertised-address = "http://${HOST}:${nodePort}"
listen-mode = "tcp"
disable-telemetry = true
log-filter = "error"

[admin]
bind-address = "${HOST}:${adminPort}"

[ingress]
bind-address = "${HOST}:${ingressPort}"
`;

/** Let the server ask each worker once what it serves. */
async function register() {
  const running = Array.from({ length: WORKERS }, (_, place) =>
    spawn(process.execPath, [process.argv[1], "worker"], {
      env: { ...process.env, PEER_NUMBER: `${place}` },
      cwd: process.cwd(),
      stdio: "inherit",
    }),
  );
  for (const port of workerPorts.slice(0, WORKERS)) {
    await until(async () => {
      const body = JSON.stringify({ uri: `http://${HOST}:${port}` });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`http://${HOST}:${adminPort}/deployments`, { method: "POST", headers, body });
      if (!answer.ok) throw new Error(await answer.text());
    });
  }
  await Promise.all(running.map((worker) => new Promise((ended) => worker.on("exit", ended).kill("SIGTERM"))));
}

await main({
  name: "@restatedev/restate-server",
  folder: serverFolder,
  hasNoBulk: true,
  setup: () => undefined,

  async attend() {
    const file = join(process.env.PEER_TALLY_DIR, "restate.toml");
    writeFileSync(file, config);
    const own = `@restatedev/restate-server-${process.platform}-${process.arch}`;
    const server = join(serverFolder, "node_modules", own, "bin", "restate-server");
    await attend(server, ["--no-logo", "--config-file", file], register);
  },

  async connect() {
    const ingress = require("@restatedev/restate-sdk-clients").connect({ url: `http://${HOST}:${ingressPort}` });
    const clients = Array.from({ length: WORKERS }, (_, place) => ingress.serviceSendClient({ name: `noop${place}` }));
    let turn = 0;
    await fetch(`http://${HOST}:${ingressPort}/restate/health`); // the first request takes long to set up
    return {
      submit: (sentMs) => clients[(turn += 1) % WORKERS].run(sentMs),
      close: () => undefined,
    };
  },

  async work(tally) {
    const handler = require("@restatedev/restate-sdk").createEndpointHandler({ services: [service(number, tally)] });
    http2.createServer(handler).listen(workerPorts[number], HOST);
    process.on("SIGTERM", () => process.exit(0));
    await sleep(0);
  },
});
