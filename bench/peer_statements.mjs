// Installs a queue of npm into the database of PGHOST, PGPORT, PGUSER and PGDATABASE through its own
// calls, and prints the statements it sends for each operation, so that Python can send the same ones.
// usage: node peer_statements.mjs NODE_MODULES pg-boss|graphile-worker BATCH_SIZE...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, peer, ...sizes] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const load = (path) => import(pathToFileURL(`${modules}/${path}`).href);
const { version } = JSON.parse(readFileSync(`${modules}/${peer}/package.json`, "utf8"));
const pool = new (require("pg").Pool)();
const statements = {};
let operation = null;

function record(text, values) {
  if (operation !== null) (statements[operation] ??= []).push({ text, values: values ?? [] });
}

async function during(name, call) {
  operation = name;
  const result = await call();
  operation = null;
  return result;
}

async function pgBoss() {
  const { PgBoss } = await load("pg-boss/dist/index.js");
  const db = {
    async executeSql(text, values) {
      record(text, values);
      return pool.query(text, values);
    },
  };
  const boss = new PgBoss({ db, supervise: false, schedule: false });
  await boss.start();
  for (const [queue, policy] of [["plain", "standard"], ["ordered", "key_strict_fifo"]]) {
    await boss.createQueue(queue, { partition: true, policy });
    const singletonKey = "k";
    await during(`enqueue_one ${queue}`, () => boss.send(queue, { i: 0 }, { singletonKey }));
    await during(`enqueue_many ${queue}`, () => boss.insert(queue, [{ data: { i: 0 }, singletonKey }]));
    for (const size of sizes) {
      const batchSize = Number(size);
      await during(`claim ${queue} ${size}`, () => boss.fetch(queue, { batchSize }));
    }
    const [job] = await boss.fetch(queue).then((jobs) => (jobs.length ? jobs : [{ id: crypto.randomUUID(), retryCount: 0 }]));
    await during(`ack ${queue}`, () => boss.complete(queue, [{ id: job.id, retryCount: 0 }]));
    await boss.deleteAllJobs(queue);
  }
  await boss.stop({ graceful: false });
}

async function graphileWorker() {
  const { getUtilsAndReleasersFromOptions } = await load("graphile-worker/dist/lib.js");
  const { batchGetJobs } = await load("graphile-worker/dist/sql/getJobs.js");
  const { batchCompleteJobs } = await load("graphile-worker/dist/sql/completeJobs.js");
  const { makeAddJob, makeAddJobs } = await load("graphile-worker/dist/helpers.js");
  const { migrate } = await load("graphile-worker/dist/migrate.js");
  const [options, release] = await getUtilsAndReleasersFromOptions({ pgPool: pool });
  await options.withPgClient((client) => migrate(options, client));
  const client = {
    async query(statement, values) {
      const sent = typeof statement === "string" ? { text: statement, values } : statement;
      record(sent.text, sent.values);
      return pool.query(sent.text, sent.values);
    },
  };
  const withClient = (callback) => callback(client);
  withClient.withRetries = withClient;
  const tasks = { task: () => {} };
  await batchGetJobs(options, withClient, tasks, "w", [], 1);
  await during("enqueue_one", () => makeAddJob(options, withClient)("task", { i: 0 }, { queueName: "k" }));
  await during("enqueue_many", () =>
    makeAddJobs(options, withClient)([{ identifier: "task", payload: { i: 0 }, queueName: "k" }]));
  for (const size of sizes) {
    await during(`claim ${size}`, () => batchGetJobs(options, withClient, tasks, "w", [], Number(size)));
  }
  const plain = [{ id: 0, job_queue_id: null }, { id: -1, job_queue_id: null }];
  await during("ack one plain", () => batchCompleteJobs(options, withClient, "w", plain.slice(0, 1)));
  await during("ack plain", () => batchCompleteJobs(options, withClient, "w", plain));
  await during("ack ordered", () => batchCompleteJobs(options, withClient, "w", [{ id: 0, job_queue_id: 1 }]));
  await pool.query(`delete from graphile_worker._private_jobs`);
  await pool.query(`delete from graphile_worker._private_job_queues`);
  await release();
}

await (peer === "pg-boss" ? pgBoss() : graphileWorker());
await pool.end().catch(() => {});
console.log(JSON.stringify({ version, statements }));
process.exit(0);
