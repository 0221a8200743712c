// SPDX-License-Identifier: MIT
// Every verb, on the real service.
import test from "node:test";
import assert from "node:assert/strict";
import { SluiceError } from "sluice-client";
import { all, counts, leased, newClient, range } from "./world.js";

const HOUR_MS = 3_600_000;
const client = newClient();

test("a job is enqueued, claimed, extended and acked", async () => {
  const queue = "a whole life";
  await client.configure(queue, { done_retention_ms: HOUR_MS });
  const payload = { to: "ann", list: [1, null, "\u{1f600}"] };
  const id = await client.enqueue(queue, { payload, group: "g" });
  const [lease] = await client.claim({ queues: [queue], worker: "me", lease_ms: 60_000 });
  assert(lease);
  assert.deepEqual([lease.queue, lease.id, lease.group, lease.attempt, lease.payload],
    [queue, id, "g", 1, payload]);
  const deadline = await client.extend(lease, { lease_ms: HOUR_MS, progress: "half" });
  assert(deadline > lease.deadline_at);
  const running = await client.job(queue, id);
  assert.deepEqual([running.lane, running.deadline_at, running.progress, running.worker],
    ["leased", deadline, "half", "me"]);
  await client.ack(lease, { result: "sent" });
  const done = await client.job(queue, id);
  assert.deepEqual([done.lane, done.result, done.payload], ["done", "sent", payload]);
  assert.deepEqual(done.history?.map((attempt) => attempt.outcome), ["acked"]);
});

test("payloads come back as they went", async () => {
  const queue = "payloads";
  const bytes = Uint8Array.from(range(100_000), (number) => number % 256);
  const payloads = [null, false, 0, "", "text", [], {}, { payload_base64: "x" }, bytes,
    new Uint8Array(0)];
  for (const payload of payloads) {
    const id = await client.enqueue(queue, { payload });
    const [lease] = await client.claim({ queues: [queue] });
    assert.deepEqual(lease?.payload, payload);
    assert.deepEqual((await client.job(queue, id)).payload, payload);
    assert(lease && !("payload_base64" in lease));
  }
  const none = await client.enqueue(queue);
  assert.deepEqual((await client.job(queue, none)).payload, new Uint8Array(0));
});

test("fail retries later, at once or never again", async () => {
  await client.fail(await leased("fail later"), { error: "no luck", delay_ms: HOUR_MS });
  const later = await client.job("fail later", "j");
  assert.deepEqual([later.lane, later.error, later.attempts], ["scheduled", "no luck", 1]);
  await client.fail(await leased("fail soon"), { delay_ms: 0 });
  const [again] = await client.claim({ queues: ["fail soon"], wait_ms: 60_000 });
  assert.equal(again?.attempt, 2);
  await client.fail(await leased("fail for good"), { error: "hopeless", dead: true });
  const dead = await client.job("fail for good", "j");
  assert.deepEqual([dead.lane, dead.error, dead.attempts], ["dead", "hopeless", 1]);
});

test("release gives the attempt back", async () => {
  const queue = "release";
  await client.release(await leased(queue, "now"));
  assert.deepEqual(await counts(queue), { ready: 1 });
  await client.cancel(queue, "now");
  await client.release(await leased(queue, "later"), { delay_ms: HOUR_MS });
  const job = await client.job(queue, "later");
  assert.deepEqual([job.lane, job.attempts], ["scheduled", 0]);
});

test("children are enqueued with the ack", async () => {
  const queue = "children";
  const payload = new Uint8Array([255, 0]);
  await client.ack(await leased(queue), {
    children: [{ id: "here" }, { id: "there", queue: "children elsewhere", payload }],
  });
  assert.equal((await client.job(queue, "here")).lane, "ready");
  assert.deepEqual((await client.job("children elsewhere", "there")).payload, payload);
});

test("many jobs are enqueued in calls that the service takes", async () => {
  const queue = "many";
  let calls = 0;
  const counting = newClient({
    fetch: (...parameters) => {
      ++calls;
      return fetch(...parameters);
    },
  });
  const results = await counting.enqueueMany(queue, range(10_001).map((n) => ({ id: `${n}` })));
  assert.deepEqual(results, range(10_001).map((n) => ({ id: `${n}` })));
  assert.equal(calls, 2);
  async function* large() {
    for (const n of range(5)) yield { id: `large ${n}`, payload: "\u{1f600}".repeat(200_000) };
  }
  calls = 0;
  assert.equal((await counting.enqueueMany(queue, large())).length, 5);
  assert.equal(calls, 3);
  assert.deepEqual(await counting.enqueueMany(queue, []), []);
  assert.equal(calls, 3);
  assert.deepEqual(await counts(queue), { ready: 10_006 });
});

test("of many jobs each is answered for itself", async () => {
  const results = await client.enqueueMany("each", [{ id: "a" }, { id: "a" }, { id: "b" }]);
  assert.deepEqual(results.map((one) => ("error" in one ? one.error.code : one.id)),
    ["a", "already_exists", "b"]);
});

test("the error of many jobs has the results before it", async () => {
  const jobs = [...range(10_000).map(() => ({})), { priority: "high" as unknown as number }];
  await assert.rejects(client.enqueueMany("half", jobs, { key: "k" }), (error) => {
    assert(error instanceof SluiceError);
    assert.deepEqual([error.code, error.results?.length, error.key],
      ["invalid_argument", 10_000, "k"]);
    return true;
  });
  jobs[10_000] = {};
  assert.equal((await client.enqueueMany("half", jobs, { key: "k" })).length, 10_001);
  assert.deepEqual(await counts("half"), { ready: 10_001 });
});

test("listings are read page by page", async () => {
  const queue = "listing";
  await client.enqueueMany(queue, range(7).map((n) => ({ id: `${n}`, group: `g${n % 3}` })));
  await client.hold(queue, "3");
  const ids = async (query: object) => (await all(client.jobs(queue, query))).map(({ id }) => id);
  assert.deepEqual(await ids({ limit: 2 }), ["0", "1", "2", "3", "4", "5", "6"]);
  assert.deepEqual(await ids({ lane: "held" }), ["3"]);
  assert.deepEqual(await ids({ group: "g0", limit: 1 }), ["0", "3", "6"]);
  const groups = await all(client.groups(queue, { limit: 1 }));
  assert.deepEqual(groups.map(({ name }) => name), ["g0", "g1", "g2"]);
  const queues = (await all(client.queues({ limit: 1 }))).map(({ name }) => name);
  assert(queues.includes(queue) && new Set(queues).size === queues.length);
  for await (const job of client.jobs(queue, { limit: 1 })) {
    assert.equal(job.id, "0");
    break;
  }
});

test("the verbs on a job move it", async () => {
  const queue = "verbs";
  await client.configure(queue, { done_retention_ms: HOUR_MS });
  await client.enqueue(queue, { id: "j/.." });
  const lane = async () => (await client.job(queue, "j/..")).lane;
  for (const [verb, to] of [["hold", "held"], ["unhold", "ready"], ["cancel", "cancelled"],
    ["requeue", "ready"]] as const) {
    await client[verb](queue, "j/..");
    assert.equal(await lane(), to);
  }
  await client.edit(queue, "j/..", { priority: 9, payload: null });
  const { priority, payload } = await client.job(queue, "j/..");
  assert.deepEqual([priority, payload], [9, null]);
  await client.claim({ queues: [queue] });
  assert.match((await client.explain(queue, "j/..")).reasons.join(" "), /./);
  await client.breakLease(queue, "j/..");
  assert.equal(await lane(), "ready");
  await client.cancel(queue, "j/..");
  await client.remove(queue, "j/..");
  await assert.rejects(client.job(queue, "j/.."), { code: "not_found" });
});

test("a queue is configured, paused, limited and removed", async () => {
  const queue = "settings / ?#%";
  const { config } = await client.configure(queue, { priority: 3, backlog_max: 10 });
  assert.deepEqual([config.priority, config.backlog_max], [3, 10]);
  await client.configure(queue, { backlog_max: null });
  assert.equal((await client.queue(queue)).config.backlog_max, null);
  await client.pause(queue);
  assert.equal((await client.queue(queue)).paused, true);
  await client.resume(queue);
  assert.equal((await client.queue(queue)).paused, false);
  await client.limitGroup(queue, "a/b", 2);
  assert.deepEqual((await all(client.groups(queue))).map(({ name, limit }) => [name, limit]),
    [["a/b", 2]]);
  await client.limitGroup(queue, "a/b", null);
  assert.deepEqual(await all(client.groups(queue)), []);
  await client.removeQueue(queue);
  await assert.rejects(client.queue(queue), { code: "not_found" });
});

test("verify says that the store is sound", async () => {
  const report = await client.verify();
  assert.deepEqual([report.clean, report.breaches], [true, []]);
});

test("any call can be made", async () => {
  const path = "/v1/queues/any/jobs";
  const ids = [];
  for (const key of ["k", "k", "other"])
    ids.push((await client.call<{ id: string }>("POST", path, { payload: 1 }, { key })).id);
  assert.equal(ids[0], ids[1]);
  assert.notEqual(ids[1], ids[2]);
  assert.deepEqual(await counts("any"), { ready: 2 });
});

test("a failure tells what to do", async () => {
  await assert.rejects(client.job("none", "none"), (error) => {
    assert(error instanceof SluiceError && error instanceof Error);
    const { code, status, message, advice, uncertain, retryAfterMs } = error;
    assert.deepEqual([code, status, uncertain, retryAfterMs],
      ["not_found", 404, false, undefined]);
    assert(message && advice && message !== advice);
    return true;
  });
  const lease = await leased("told");
  await client.ack(lease);
  await assert.rejects(client.ack(lease), { code: "lease_lost", status: 409 });
  await assert.rejects(client.call("GET", "/nothing"), { code: "invalid_argument", status: 404 });
  await assert.rejects(client.enqueue("told", { payload: "x".repeat(3_000_000) }),
    { code: "invalid_argument", status: 413 });
});

test("names that no URL can have are refused", async () => {
  for (const name of ["", ".", ".."])
    for (const call of [client.enqueue(name), client.job("q", name)])
      await assert.rejects(call, { code: "invalid_argument", message: /cannot be addressed/ });
  await client.enqueue("...", { id: "..." });
  assert.equal((await client.job("...", "...")).queue, "...");
  await assert.rejects(client.edit("q", "j", { payload: new Uint8Array(1) }),
    { code: "invalid_argument" });
  for (const url of ["", "localhost:3100", "ftp://x", "http://x/?y"])
    assert.throws(() => newClient({ url }), { name: "TypeError" });
});
