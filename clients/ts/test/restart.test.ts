// SPDX-License-Identifier: MIT
// A worker while its service is killed and started again.
import test from "node:test";
import assert from "node:assert/strict";
import { Worker } from "sluice-client";
import { all, counts, mortal, mortalUrl, newClient, range, until } from "./world.js";

const JOBS = 500;
const HOUR_MS = 3_600_000;
const client = newClient({ url: mortalUrl });

test("each job is done once though the service is killed, and none is lost", async (context) => {
  const queue = "killed";
  const ids = range(JOBS).map((n) => `${n}`);
  await client.configure(queue, { done_retention_ms: HOUR_MS });
  await client.enqueueMany(queue, ids.map((id) => ({ id })));
  const runs: string[] = [];
  let failed = 0;
  // It must not come to the end before it is killed, however long that takes.
  let most = 200;
  const watched: typeof fetch = (...parameters) => {
    const answer = fetch(...parameters);
    answer.catch(() => ++failed);
    return answer;
  };
  const worker = new Worker({
    client: newClient({ url: mortalUrl, fetch: watched }),
    queues: [queue],
    slots: 4,
    leaseMs: HOUR_MS,
    onError: () => {},
    handler: async (lease) => {
      runs.push(lease.id);
      if (runs.length > most) await until(() => runs.length <= most, "the service to be killed");
      return `${lease.id} is done`;
    },
  });
  context.after(() => worker.stop());
  const run = worker.run();
  for (const [share, next] of [[100, 350], [250, Infinity]] as const) {
    await until(() => runs.length >= share, `${share} jobs`);
    await mortal("kill");
    const before = failed;
    most = next;
    await until(() => failed >= before + 10, "calls to fail");
    await mortal("start");
  }
  await until(async () => (await client.queue(queue)).counts.done === JOBS, "all to be done");
  await worker.stop();
  await run;
  assert.deepEqual([...runs].sort(), [...ids].sort());
  assert.deepEqual(await counts(queue, client), { done: JOBS });
  for (const job of await all(client.jobs(queue)))
    assert.deepEqual([job.attempts, job.lapses, job.result], [1, 0, `${job.id} is done`]);
});

test("a worker that is stopped while nobody answers ends", async (context) => {
  const queue = "ends";
  const told: unknown[] = [];
  const worker = new Worker({
    client: newClient({ url: mortalUrl, retriesMax: 0 }),
    queues: [queue],
    handler: () => {},
    onError: (error) => told.push(error),
  });
  context.after(() => worker.stop());
  const run = worker.run();
  await mortal("kill");
  await until(() => told.length > 0, "a claim to fail");
  await worker.stop();
  await run;
  await mortal("start");
});
