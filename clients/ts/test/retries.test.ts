// SPDX-License-Identifier: MIT
// What is repeated when answers are lost or late, and that it happens once all the same.
import test from "node:test";
import assert from "node:assert/strict";
import { Client, SluiceError, type ClientOptions } from "sluice-client";
import { pauseMs, RETRY_AFTER_MS_MAX } from "../dist/pause.js";
import { answer, Peer, refusal, type Act, type Turn } from "./peer.js";
import { all, counts, leased, newClient, range, until } from "./world.js";

const HOUR_MS = 3_600_000;
const direct = newClient();

interface Bench {
  client: Client;
  peer: Peer;
}

/** A client whose first requests meet these turns. */
async function bench(
  turns: Turn[], body: (bench: Bench) => Promise<void>, options: Partial<ClientOptions> = {},
): Promise<void> {
  const peer = await Peer.start(...turns);
  try {
    await body({ peer, client: newClient({ url: peer.url, ...options }) });
  } finally {
    peer.close();
  }
}

/** The requests that came, of which all must have had the same key. */
function tries({ peer }: Bench): number {
  const keys = range(peer.requests.length).map((n) => peer.header(n, "idempotency-key"));
  assert.equal(new Set(keys).size, 1, `${keys}`);
  assert.match(keys[0] ?? "", /^[0-9a-f]{32}(\/0)?$/);
  return keys.length;
}

test("a job whose answer was lost is enqueued once", () =>
  bench(["swallow", "drop", "swallow"], async (its) => {
    const id = await its.client.enqueue("lost", { payload: 1 });
    assert.equal(tries(its), 4);
    assert.deepEqual((await all(direct.jobs("lost"))).map((job) => job.id), [id]);
  }));

test("so are many jobs", () =>
  bench(["swallow"], async (its) => {
    const results = await its.client.enqueueMany("lost many", range(3).map(() => ({})));
    assert.equal(tries(its), 2);
    assert.deepEqual((await all(direct.jobs("lost many"))).map(({ id }) => ({ id })), results);
  }));

test("a claim whose answer was lost gets its leases, and does not wait again", () =>
  bench(["swallow"], async (its) => {
    await direct.enqueueMany("lost claim", range(5).map((n) => ({ id: `${n}` })));
    const request = { queues: ["lost claim"], max: 2, wait_ms: 60_000 };
    const leases = await its.client.claim(request);
    assert.deepEqual(leases.map((lease) => lease.id), ["0", "1"]);
    assert.equal(tries(its), 2);
    assert.deepEqual(await counts("lost claim"), { leased: 2, ready: 3 });
    assert.deepEqual(its.peer.requests.map((one) => /"wait_ms":(\d+)/.exec(one)?.[1]),
      ["60000", "0"]);
  }));

test("what a worker says of a job happens once and succeeds", async () => {
  for (const [verb, members, then] of [
    ["ack", { children: [{}] }, { ready: 1 }], ["fail", { dead: true }, { dead: 1 }],
    ["release", {}, { ready: 1 }],
  ] as const)
    await bench(["swallow"], async (its) => {
      const queue = `lost ${verb}`;
      const lease = await leased(queue);
      await (its.client[verb] as Client["fail"])(lease, members as object);
      assert.equal(tries(its), 2);
      assert.deepEqual(await counts(queue), then);
    });
});

test("a lease is extended again, or known to be lost", async () => {
  const lease = await leased("lost extend");
  await bench(["swallow", "drop"], async ({ client, peer }) => {
    const deadline = await client.extend(lease, { lease_ms: HOUR_MS });
    assert.equal((await direct.job("lost extend", "j")).deadline_at, deadline);
    assert.equal(peer.requests.length, 3);
  });
  // Between the try that was heard and the repeat, the job is taken away.
  let taken = () => {};
  const wait = new Promise<Act>((resolve) => (taken = () => resolve("pass")));
  await bench(["swallow", wait], async ({ client, peer }) => {
    const extended = client.extend(lease);
    await until(() => peer.requests.length === 2, "the repeat");
    await direct.breakLease("lost extend", "j");
    taken();
    await assert.rejects(extended, { code: "lease_lost" });
  });
});

test("the verbs on a job succeed though the first answer was lost", async () => {
  const queue = "lost verbs";
  await direct.configure(queue, { done_retention_ms: HOUR_MS });
  await direct.enqueue(queue, { id: "j" });
  for (const [verb, lane] of [
    ["hold", "held"], ["unhold", "ready"], ["cancel", "cancelled"], ["requeue", "ready"],
    ["breakLease", "ready"], ["cancel", "cancelled"],
  ] as const) {
    if (verb === "breakLease") await direct.claim({ queues: [queue] });
    await bench(["swallow"], async (its) => {
      await its.client[verb](queue, "j");
      assert.equal(tries(its), 2);
    });
    assert.equal((await direct.job(queue, "j")).lane, lane);
  }
  await direct.requeue(queue, "j");
  await bench(["swallow"], async (its) => {
    await its.client.edit(queue, "j", { priority: 9 });
    assert.equal(tries(its), 2);
  });
  await direct.cancel(queue, "j");
  await bench(["swallow"], async (its) => {
    await its.client.remove(queue, "j");
    assert.equal(tries(its), 2);
  });
  assert.deepEqual(await counts(queue), {});
});

test("settings are set again, and reads read again", async () => {
  const queue = "lost settings";
  await direct.enqueue(queue, { id: "j" });
  const calls: ((client: Client) => Promise<unknown>)[] = [
    (client) => client.configure(queue, { priority: 7 }),
    (client) => client.limitGroup(queue, "g", 1),
    (client) => client.pause(queue),
    (client) => client.resume(queue),
    (client) => client.job(queue, "j"),
    (client) => all(client.jobs(queue)),
    (client) => client.explain(queue, "j"),
    (client) => client.queue(queue),
    (client) => client.queues({ limit: 1 }).next(),
    (client) => all(client.groups(queue)),
    (client) => client.verify(),
  ];
  await Promise.all(calls.map((call) =>
    bench(["swallow"], async ({ client, peer }) => {
      await call(client);
      assert.equal(peer.requests.length, 2, `${call}`);
      assert.equal(peer.header(0, "idempotency-key"), undefined);
    })));
});

test("what could happen twice is not repeated, and says that it may have happened", async () => {
  await direct.configure("once", {});
  for (const turn of ["swallow", "drop", { answer: answer(502, "text/html", "oh") }] as const)
    await bench([turn], async ({ client, peer }) => {
      const call = turn === "swallow"
        ? client.removeQueue("once")
        : client.call("POST", "/v1/queues/once/jobs", {});
      await assert.rejects(call, { code: "no_answer", uncertain: true, key: undefined });
      assert.equal(peer.requests.length, 1);
    });
  await assert.rejects(direct.queue("once"), { code: "not_found" });
});

test("nothing has happened if nobody listens, or the service says so", async () => {
  const peer = await Peer.start();
  peer.close();
  const nobody = newClient({ url: peer.url, retriesMax: 1 });
  await assert.rejects(nobody.removeQueue("nobody"), { code: "no_answer", uncertain: false });
  await bench([refusal(503, "unavailable")], async ({ client, peer: between }) => {
    await client.call("POST", "/v1/queues/said/jobs", {});
    assert.equal(between.requests.length, 2);
    assert.deepEqual(await counts("said"), { ready: 1 });
  });
});

test("429 and 503 are repeated, other refusals are not", async () => {
  for (const turn of [refusal(503, "unavailable", "retry-after: 0\r\n"),
    refusal(429, "limit_exceeded"), { answer: answer(503, "text/plain", "busy") }])
    await bench([turn, turn], async (its) => {
      await its.client.enqueue("refused");
      assert.equal(tries(its), 3);
    });
  for (const [status, code] of [[400, "invalid_argument"], [409, "conflict"],
    [500, "commit_unknown"], [504, "deadline_exceeded"], [507, "storage_full"]] as const)
    await bench([refusal(status, code)], async ({ client, peer }) => {
      const uncertain = code === "commit_unknown";
      const said = { code, status, uncertain, message: `it is ${code}`, advice: "wait" };
      await assert.rejects(client.enqueue("refused", {}, { key: "k" }), { ...said, key: "k" });
      assert.equal(peer.requests.length, 1);
    });
  assert.deepEqual(await counts("refused"), { ready: 3 });
});

test("a full backlog is waited for", () =>
  bench([], async ({ client, peer }) => {
    await direct.configure("full", { backlog_max: 0 });
    const enqueued = client.enqueue("full");
    await until(() => peer.requests.length === 1, "the first try");
    await direct.configure("full", { backlog_max: 1 });
    await enqueued;
    await assert.rejects(newClient({ retriesMax: 0 }).enqueue("full"),
      { code: "limit_exceeded", status: 429, retryAfterMs: 1000 });
  }));

test("it gives up after a few tries, and earlier ones make the last uncertain", async () => {
  const busy = refusal(503, "unavailable");
  for (const [turns, uncertain] of [
    [["drop", busy, busy], true], [[busy, busy, busy], false],
  ] as const)
    await bench([...turns], async (its) => {
      await assert.rejects(its.client.enqueue("given up"), (error) => {
        assert(error instanceof SluiceError);
        const key = its.peer.header(0, "idempotency-key");
        assert.deepEqual([error.code, error.uncertain, error.key], ["unavailable", uncertain, key]);
        return true;
      });
      assert.equal(tries(its), 3);
      await assert.rejects(its.client.call("GET", "/v1/nothing"), { uncertain: false });
    }, { retriesMax: 2 });
});

test("who is to come back much later is told so", () => {
  const seconds = RETRY_AFTER_MS_MAX / 1000 + 1;
  return bench([refusal(503, "unavailable", `retry-after: ${seconds}\r\n`)], async (its) => {
    await assert.rejects(its.client.enqueue("much later"), { retryAfterMs: seconds * 1000 });
    assert.equal(tries(its), 1);
  });
});

test("a call that is not answered in time is repeated", () =>
  bench(["hang"], async (its) => {
    await its.client.enqueue("late", {}, { timeoutMs: 300 });
    assert(tries(its) >= 2);
    assert.deepEqual(await counts("late"), { ready: 1 });
    its.peer.turns = ["hang"];
    const impatient = newClient({ url: its.peer.url, timeoutMs: 1, retriesMax: 0 });
    await assert.rejects(impatient.enqueue("late"), { code: "no_answer", uncertain: true });
  }, { retriesMax: 100 }));

test("a signal ends a call, a wait and a pause", async () => {
  const before = new AbortController();
  before.abort(new Error("enough"));
  await assert.rejects(direct.queue("x", { signal: before.signal }), /enough/);
  for (const turn of ["hang", refusal(503, "unavailable", "retry-after: 10\r\n")] as const)
    await bench([turn], async ({ client, peer }) => {
      const stop = new AbortController();
      const request = { queues: ["signal"], wait_ms: 300_000 };
      const claim = client.claim(request, { signal: stop.signal });
      await until(() => peer.requests.length === 1, "the claim");
      stop.abort(new Error("enough"));
      await assert.rejects(claim, /enough/);
      assert.equal(peer.requests.length, 1);
    });
  await bench(["hang"], async ({ client, peer }) => {
    const stop = new AbortController();
    const call = client.call("POST", "/v1/queues/signal/jobs", {}, { signal: stop.signal });
    await until(() => peer.requests.length === 1, "the call");
    stop.abort(new Error("enough"));
    await assert.rejects(call, /enough/);
  });
});

test("a claim that was ended by a signal takes no job", () =>
  bench([], async ({ client, peer }) => {
    const stop = new AbortController();
    const request = { queues: ["no job"], wait_ms: 300_000 };
    const claim = client.claim(request, { signal: stop.signal });
    await until(() => peer.requests.length === 1, "the claim");
    stop.abort();
    await assert.rejects(claim, { name: "AbortError" });
    await until(() => peer.open === 0, "the connections to be closed");
    await direct.enqueue("no job");
    const leases = await direct.claim({ ...request, wait_ms: 60_000 });
    assert.equal(leases[0]?.attempt, 1);
  }));

test("the token is sent, and one that cannot be is refused", () =>
  bench([], async ({ peer, client }) => {
    await newClient({ url: `${peer.url}/`, token: "secret" }).enqueue("token");
    assert.equal(peer.header(0, "authorization"), "Bearer secret");
    await client.enqueue("token");
    assert.equal(peer.header(1, "authorization"), undefined);
    await assert.rejects(newClient({ token: "a\nb" }).enqueue("token"), { name: "TypeError" });
  }));

test("answers that are not of sluiced are told apart", async () => {
  for (const [status, code, uncertain] of [[200, "bad_answer", true], [401, "permission_denied"],
    [403, "permission_denied"], [418, "invalid_argument"], [500, "bad_answer", true]] as const)
    await bench([{ answer: answer(status, "text/html", "<p>") }], async ({ client, peer }) => {
      await assert.rejects(client.enqueue("strange"), { code, status, uncertain: !!uncertain });
      assert.equal(peer.requests.length, 1);
    });
});

test("pauses double up to a cap, and are never shorter than asked for", () => {
  assert.deepEqual(range(8).map((n) => pauseMs(n + 1, 0, 0)),
    [50, 100, 200, 400, 800, 1600, 2500, 2500]);
  assert.deepEqual(range(8).map((n) => pauseMs(n + 1, 0, 1)),
    [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  assert.deepEqual([pauseMs(1, 1000, 0), pauseMs(1, 1000, 1)], [1000, 1050]);
});
