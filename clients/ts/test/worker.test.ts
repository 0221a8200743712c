// SPDX-License-Identifier: MIT
// Workers: what becomes of jobs, of their leases, and of the worker itself.
import test from "node:test";
import assert from "node:assert/strict";
import {
  Dead, Release, Retry, SluiceError, Worker, type Handler, type WorkerOptions,
} from "sluice-client";
import { Peer, refusal, type Act } from "./peer.js";
import { all, counts, newClient, range, until } from "./world.js";

const HOUR_MS = 3_600_000;
const client = newClient();

/** A worker on one queue; what it was told with onError is in `errors`. */
function workerOn(queue: string, handler: Handler, options: Partial<WorkerOptions> = {}) {
  const errors: SluiceError[] = [];
  const onError = (error: unknown) => errors.push(error as SluiceError);
  const worker = new Worker({ client, queues: [queue], handler, onError, ...options });
  return { worker, errors };
}

/** Enqueues a job, lets a worker do all there is, and returns what became of the job. */
async function finished(queue: string, handler: Handler) {
  // An attempt that failed does not come back meanwhile, however slow the machine is.
  const retry = { base_ms: HOUR_MS, cap_ms: HOUR_MS };
  await client.configure(queue, { done_retention_ms: HOUR_MS, retry });
  await client.enqueue(queue, { id: "j" });
  const { worker, errors } = workerOn(queue, handler);
  await worker.run({ drain: true });
  assert.deepEqual(errors, []);
  return client.job(queue, "j");
}

test("what a handler returns is the result", async () => {
  for (const [value, result] of [["text", "text"], [undefined, undefined], [null, "null"],
    [{ a: [1] }, '{"a":[1]}'], [7, "7"]] as const) {
    const job = await finished(`returns ${JSON.stringify(value)}`, async () => value);
    assert.deepEqual([job.lane, job.result], ["done", result]);
  }
});

test("what a handler throws says what becomes of the job", async () => {
  const cases: [string, unknown, unknown[]][] = [
    ["error", new Error("no luck"), ["scheduled", 1, "no luck"]],
    ["no error", "just text", ["scheduled", 1, "just text"]],
    ["long", new Error("x".repeat(3_000_000)), ["scheduled", 1, "x".repeat(4096)]],
    ["split", new Error(`${"x".repeat(4095)}\u{1f600}`), ["scheduled", 1, "x".repeat(4095)]],
    ["retry", new Retry("later"), ["scheduled", 1, "later"]],
    ["dead", new Dead("hopeless"), ["dead", 1, "hopeless"]],
    ["release", new Release({ delayMs: HOUR_MS }), ["scheduled", 0, undefined]],
  ];
  for (const [name, thrown, then] of cases) {
    const job = await finished(`throws ${name}`, () => {
      throw thrown;
    });
    assert.deepEqual([job.lane, job.attempts, job.error], then);
  }
});

test("Retry with a delay comes back then", async () => {
  const attempts: number[] = [];
  const job = await finished("retry at once", ({ attempt }) => {
    attempts.push(attempt);
    if (attempt < 3) throw new Retry("again", { delayMs: 0 });
  });
  assert.deepEqual([job.lane, attempts], ["done", [1, 2, 3]]);
  const later = await finished("retry in an hour", () => {
    throw new Retry("later", { delayMs: HOUR_MS });
  });
  assert((later.due_at ?? 0) - later.enqueued_at >= HOUR_MS);
});

test("a result that the service refuses fails the attempt", async () => {
  const job = await finished("too long", () => "x".repeat(64_001));
  assert.deepEqual([job.lane, job.attempts], ["scheduled", 1]);
  assert.match(job.error ?? "", /^ack: .*result/);
});

test("a result that is no JSON fails the attempt", async () => {
  const job = await finished("no JSON", () => 1n);
  assert.deepEqual([job.lane, job.attempts], ["scheduled", 1]);
  assert.match(job.error ?? "", /BigInt/);
});

test("as many handlers run at once as there are slots", async () => {
  const queue = "slots";
  await client.enqueueMany(queue, range(9).map(() => ({})));
  let running = 0;
  let most = 0;
  // They wait for one another: fewer at once would never be enough.
  const four = until(() => most === 4, "four at once");
  const { worker, errors } = workerOn(queue, async () => {
    most = Math.max(most, ++running);
    await four;
    --running;
  }, { slots: 4 });
  await worker.run({ drain: true });
  assert.deepEqual([most, errors, await counts(queue)], [4, [], {}]);
  for (const options of [{ slots: 0 }, { slots: 1.5 }, { slots: 1001 }, { leaseMs: 0 },
    { waitMs: 0 }, { waitMs: 300_001 }])
    assert.throws(() => workerOn(queue, () => {}, options), { name: "RangeError" });
});

test("jobs that come while it waits are done, until it is stopped", async (context) => {
  const queue = "comes";
  const seen: unknown[] = [];
  const { worker, errors } = workerOn(queue, ({ payload }) => void seen.push(payload));
  context.after(() => worker.stop());
  const run = worker.run();
  assert.throws(() => worker.run(), /is running/);
  for (const payload of [1, 2, 3]) {
    await client.enqueue(queue, { payload });
    await until(() => seen.length === payload, "the job to be done");
  }
  await worker.stop();
  await run;
  assert.deepEqual([seen, errors, await counts(queue)], [[1, 2, 3], [], {}]);
  await client.enqueue(queue, { payload: 4 });
  await worker.run({ drain: true });
  assert.deepEqual(seen, [1, 2, 3, 4]);
});

test("stop lets handlers finish and takes no more", async (context) => {
  const queue = "stop";
  await client.enqueueMany(queue, range(10).map(() => ({})));
  let begun = 0;
  let go = () => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  const { worker, errors } = workerOn(queue, () => (++begun, gate), { slots: 2 });
  context.after(() => {
    go();
    return worker.stop();
  });
  const run = worker.run();
  await until(() => begun === 2, "two handlers");
  let stopped = false;
  const stop = worker.stop().then(() => (stopped = true));
  assert.deepEqual(await counts(queue), { leased: 2, ready: 8 });
  assert.equal(stopped, false);
  go();
  await Promise.all([stop, run]);
  assert.deepEqual([begun, errors, await counts(queue)], [2, [], { ready: 8 }]);
});

test("a job that arrives as the worker stops goes back untried", async (context) => {
  const queue = "too late";
  const peer = await Peer.start("hang");
  context.after(() => peer.close());
  const { worker } = workerOn(queue, () => assert(false, "it must not run"),
    { client: newClient({ url: peer.url }) });
  context.after(() => worker.stop());
  const run = worker.run();
  await until(() => peer.requests.length === 1, "the claim");
  const key = peer.header(0, "idempotency-key") ?? "";
  await client.enqueue(queue, { id: "j" });
  // The service has answered that claim, but the answer is on its way.
  const request = { queues: [queue], max: 1, lease_ms: 60_000 };
  assert.equal((await client.claim(request, { key })).length, 1);
  await worker.stop();
  await run;
  const job = await client.job(queue, "j");
  assert.deepEqual([job.lane, job.attempts], ["ready", 0]);
});

test("leases are extended for as long as the handler runs", async (context) => {
  const queue = "extended";
  // A machine that stands still loses a lease or two, but not all of them.
  const retry = { attempts_max: 100, base_ms: 0 };
  await client.configure(queue, { done_retention_ms: HOUR_MS, lapses_max: 20, retry });
  await client.enqueue(queue, { id: "j" });
  const { worker } = workerOn(queue, async (lease, { signal, progress }) => {
    const end = lease.deadline_at + 600;
    await until(async () => {
      signal.throwIfAborted();
      return ((await client.job(queue, "j")).deadline_at ?? 0) > end;
    }, "a deadline past the next lease");
    await progress("nearly there");
    return (await client.job(queue, "j")).progress;
  }, { leaseMs: 600, waitMs: 1000 });
  context.after(() => worker.stop());
  const run = worker.run();
  const isOver = async () => ["done", "dead"].includes((await client.job(queue, "j")).lane);
  await until(isOver, "the end");
  await worker.stop();
  await run;
  const { lane, result } = await client.job(queue, "j");
  assert.deepEqual([lane, result], ["done", "nearly there"]);
});

test("a lost lease fires the signal, and nothing is said for the job", async () => {
  const queue = "lost lease";
  await client.configure(queue, { done_retention_ms: HOUR_MS });
  await client.enqueue(queue, { id: "j" });
  const reasons: unknown[] = [];
  const { worker, errors } = workerOn(queue, async (_lease, { signal }) => {
    await client.cancel(queue, "j");
    await until(() => signal.aborted, "the signal");
    reasons.push(signal.reason);
    return "must not be kept";
  }, { leaseMs: 900 });
  await worker.run({ drain: true });
  assert.deepEqual(errors.map(({ code }) => code), ["lease_lost"]);
  assert.deepEqual(reasons, errors);
  const job = await client.job(queue, "j");
  assert.deepEqual([job.lane, job.result], ["cancelled", undefined]);
});

test("the signal fires as soon as the service says that the lease is lost", async () => {
  const queue = "the service says so";
  await client.enqueue(queue, { id: "j" });
  const seen: unknown[] = [];
  const { worker, errors } = workerOn(queue, async (_lease, { signal, progress }) => {
    await client.cancel(queue, "j");
    await progress("on and on").catch((error) => seen.push(error.code, signal.aborted));
  });
  await worker.run({ drain: true });
  assert.deepEqual(seen, ["lease_lost", true]);
  assert.deepEqual(errors.map(({ code, status }) => [code, status]), [["lease_lost", 409]]);
});

test("a lease that nothing is heard of is lost when its time is over", async (context) => {
  const queue = "silence";
  const peer = await Peer.start("pass");
  context.after(() => peer.close());
  await client.enqueue(queue, { id: "j" });
  peer.turns.push(...range(100).map(() => "drop" as const));
  const { worker, errors } = workerOn(queue, async (_lease, { signal }) => {
    await until(() => signal.aborted, "the signal");
    peer.turns = [];
    await client.cancel(queue, "j");
  }, { leaseMs: 900, client: newClient({ url: peer.url }) });
  await worker.run({ drain: true });
  assert.deepEqual(errors.map(({ code }) => code), ["lease_lost"]);
  assert.match(errors[0]?.message ?? "", /nothing was heard/);
});

test("it gets the job of a claim, and its ack, though the answers were lost", async (context) => {
  const queue = "lost answers";
  const peer = await Peer.start("swallow", "swallow");
  context.after(() => peer.close());
  await client.configure(queue, { done_retention_ms: HOUR_MS });
  await client.enqueue(queue, { id: "j" });
  // Every repeat is the worker's own.
  const impatient = newClient({ url: peer.url, retriesMax: 0 });
  const { worker, errors } = workerOn(queue, () => {
    peer.turns = ["swallow", "drop"];
  }, { client: impatient });
  await worker.run({ drain: true });
  // Of the ack there is nothing to tell: it was said in the end.
  assert.deepEqual(errors.map(({ code }) => code), ["no_answer", "no_answer"]);
  const job = await client.job(queue, "j");
  assert.deepEqual([job.lane, job.attempts], ["done", 1]);
});

test("an extension that comes after the ack takes nothing from it", async (context) => {
  const queue = "overtaken";
  const peer = await Peer.start();
  context.after(() => peer.close());
  await client.enqueue(queue);
  let answered = 0;
  const watched: typeof fetch = async (...parameters) => {
    const answer = await fetch(...parameters);
    ++answered;
    return answer;
  };
  const { worker, errors } = workerOn(queue, async (_lease, { progress }) => {
    const acked = until(() => peer.requests.length === 3, "the ack");
    const refused = until(() => answered === 2, "the extension to be refused");
    peer.turns = [acked.then(() => refusal(409, "lease_lost")), refused.then((): Act => "pass")];
    progress("done").catch(() => {});
    await until(() => peer.requests.length === 2, "the extension");
  }, { client: newClient({ url: peer.url, fetch: watched }) });
  await worker.run({ drain: true });
  assert.deepEqual([errors, await counts(queue)], [[], {}]);
});

test("a claim that is refused for good ends the worker, after its handlers", async () => {
  const { worker } = workerOn("", () => {});
  await assert.rejects(worker.run(), { code: "invalid_argument" });
  await worker.stop();
});

test("several workers share the queues by their order", async () => {
  const queues = ["shared a", "shared b"];
  for (const queue of queues) await client.enqueueMany(queue, range(50).map(() => ({})));
  const done: string[] = [];
  const workers = range(3).map((n) => new Worker({
    client, queues, slots: 3, name: `w${n}`, handler: ({ queue, id }) => void done.push(queue + id),
  }));
  await Promise.all(workers.map((worker) => worker.run({ drain: true })));
  assert.deepEqual([done.length, new Set(done).size], [100, 100]);
  for (const queue of queues) assert.deepEqual(await all(client.jobs(queue)), []);
});
