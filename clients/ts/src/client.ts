// SPDX-License-Identifier: MIT
// The verbs of sluiced's native API.
import { toBatches } from "./batches.js";
import { SluiceError } from "./errors.js";
import { newKey } from "./key.js";
import { fromWire, toWire } from "./payload.js";
import { Transport, type Call } from "./transport.js";
import type * as api from "./types.js";

/** A job to enqueue. Its payload is a Uint8Array, or any value that JSON has. */
export type NewJob = Omit<api.NewJob, "payload_base64">;
/** A job that is enqueued with an ack. */
export type Child = Omit<api.Child, "payload_base64">;
/** A job that was claimed. Bytes that are not JSON, as when there are none, are a Uint8Array. */
export type Lease<Payload = unknown> =
  Omit<api.Lease, "payload" | "payload_base64"> & { payload: Payload };
export type ListedJob = Omit<api.Job, "payload" | "payload_base64" | "history">;
export type Job<Payload = unknown> =
  Omit<api.Job, "payload" | "payload_base64"> & { payload: Payload };
/** What became of one job of several. */
export type EnqueueResult = api.Enqueued | api.Error;
type Members<Request> = Omit<Request, keyof api.Held>;

export interface ClientOptions {
  /** As sluiced says it: "http://127.0.0.1:3100". */
  url: string;
  token?: string;
  /** How long one try may take, beside what a claim waits. Default: 30 s. */
  timeoutMs?: number;
  /** Instead of the global one. */
  fetch?: typeof fetch;
  /** How often a call is repeated, where that is safe. Default: 4. */
  retriesMax?: number;
  /** The max-body of the service: enqueueMany sends no larger bodies. Default: 2 MiB. */
  bodyBytesMax?: number;
}

export interface CallOptions {
  /** Ends the call; it then throws the reason of the signal, and may have happened. */
  signal?: AbortSignal;
  /** How long one try may take. */
  timeoutMs?: number;
}

export interface ChangeOptions extends CallOptions {
  /**
   * The Idempotency-Key: the same call with the same key happens once and answers the same, for at
   * least an hour. Default: a new one, which the repeats of this call share.
   */
  key?: string;
}

/** A part of a path. Throws for names that no URL can have: "." and ".." mean something else. */
function part(name: string): string {
  const text = encodeURIComponent(name);
  if (text === "" || text === "." || text === "..")
    throw new SluiceError("invalid_argument", `"${name}" cannot be addressed over HTTP`);
  return `/${text}`;
}

function queuePath(queue: string): string {
  return `/v1/queues${part(queue)}`;
}

function jobPath(queue: string, id: string): string {
  return `${queuePath(queue)}/jobs${part(id)}`;
}

/**
 * A connection to sluiced. May be shared by everything in a process; calls may overlap.
 *
 * Members of requests and answers have the names of the API, spans are milliseconds. Every method
 * throws a SluiceError if the call fails. What is repeated by itself is told in README.md.
 */
export class Client {
  readonly #transport: Transport;
  readonly #timeoutMs: number;
  readonly #bodyBytesMax: number;

  constructor(options: ClientOptions) {
    this.#transport = new Transport({
      url: options.url,
      token: options.token,
      // Bound, because a browser's refuses to be a member of something else.
      fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
      retriesMax: options.retriesMax ?? 4,
    });
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#bodyBytesMax = options.bodyBytesMax ?? 2 * 1024 * 1024;
  }

  // ------------------------------------------------------------------------------------- any call

  /**
   * Any call, with the JSON of `body` if there is one. GET, PUT and what has a key are repeated;
   * other calls only if it is sure that they have not happened.
   */
  call<Answer = unknown>(
    method: string, path: string, body?: unknown, options: ChangeOptions = {},
  ): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const repeatable = method === "GET" || method === "PUT" || options.key !== undefined;
    return this.#send({ method, path, body: text, repeatable, ...options });
  }

  #send<Answer>(call: Omit<Call, "timeoutMs"> & { timeoutMs?: number }): Promise<Answer> {
    const timeoutMs = call.timeoutMs ?? this.#timeoutMs;
    return this.#transport.send({ ...call, timeoutMs }) as Promise<Answer>;
  }

  #get<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
    return this.call("GET", path, undefined, options);
  }

  /** A change that has a key. */
  #change<Answer>(
    method: string, path: string, body: unknown, options: ChangeOptions = {},
  ): Promise<Answer> {
    return this.call(method, path, body, { ...options, key: options.key ?? newKey() });
  }

  async *#pages<Name extends string, Item>(
    name: Name, path: string, query: object, options?: CallOptions,
  ): AsyncGenerator<Item, void, undefined> {
    const search = new URLSearchParams();
    for (const [key, value] of Object.entries(query))
      if (value !== undefined) search.set(key, String(value));
    for (;;) {
      const page: { [key in Name]: Item[] } & { next?: api.Next } =
        await this.#get(`${path}?${search}`, options);
      yield* page[name];
      if (page.next === undefined) return;
      search.set("after", page.next);
    }
  }

  // ----------------------------------------------------------------------------------------- jobs

  /** The id of the new job. Makes the queue if it does not exist. */
  async enqueue(queue: string, job: NewJob = {}, options?: ChangeOptions): Promise<string> {
    const path = `${queuePath(queue)}/jobs`;
    return (await this.#change<api.Enqueued>("POST", path, toWire(job), options)).id;
  }

  /**
   * Enqueues any number of jobs in calls of up to 10,000, one after the other; what became of each,
   * in their order. If a call fails, the error has the `results` of those before it. With a key,
   * repeating all of it with the same jobs enqueues those that are missing.
   */
  async enqueueMany(
    queue: string, jobs: Iterable<NewJob> | AsyncIterable<NewJob>, options: ChangeOptions = {},
  ): Promise<EnqueueResult[]> {
    const path = `${queuePath(queue)}/jobs`;
    const key = options.key ?? newKey();
    const results: EnqueueResult[] = [];
    let number = 0;
    for await (const body of toBatches(jobs, this.#bodyBytesMax)) {
      const call = { method: "POST", path, body, repeatable: true, ...options };
      try {
        const answer = await this.#send<api.EnqueueResults>({ ...call, key: `${key}/${number}` });
        for (const result of answer.results) results.push(result);
      } catch (error) {
        throw error instanceof SluiceError ? error.with({ key, results }) : error;
      }
      ++number;
    }
    return results;
  }

  /** Everything about a job, with its payload and its last attempts. */
  async job(queue: string, id: string, options?: CallOptions): Promise<Job> {
    return fromWire(await this.#get<api.Job>(jobPath(queue, id), options));
  }

  /** The jobs of a queue, page by page as they are asked for. `limit`: of one page. */
  jobs(
    queue: string, query: Omit<api.Operations["listJobs"]["query"], "after"> = {},
    options?: CallOptions,
  ): AsyncGenerator<ListedJob, void, undefined> {
    return this.#pages("jobs", `${queuePath(queue)}/jobs`, query, options);
  }

  /** Why a job is not running. */
  explain(queue: string, id: string, options?: CallOptions): Promise<api.Explanation> {
    return this.#get(`${jobPath(queue, id)}/explain`, options);
  }

  async #verb(verb: string, queue: string, id: string, options?: ChangeOptions): Promise<void> {
    await this.#change("POST", `${jobPath(queue, id)}/${verb}`, undefined, options);
  }

  /** Also takes it from its worker if it has one. */
  cancel(queue: string, id: string, options?: ChangeOptions): Promise<void> {
    return this.#verb("cancel", queue, id, options);
  }

  /** Makes a finished job ready again, with no attempts counted. */
  requeue(queue: string, id: string, options?: ChangeOptions): Promise<void> {
    return this.#verb("requeue", queue, id, options);
  }

  /** Puts a job aside until unhold. */
  hold(queue: string, id: string, options?: ChangeOptions): Promise<void> {
    return this.#verb("hold", queue, id, options);
  }

  unhold(queue: string, id: string, options?: ChangeOptions): Promise<void> {
    return this.#verb("unhold", queue, id, options);
  }

  /** Takes a job from its worker and puts it back; the attempt counts. */
  breakLease(queue: string, id: string, options?: ChangeOptions): Promise<void> {
    return this.#verb("break-lease", queue, id, options);
  }

  /** Changes a job that no worker has. The payload is JSON: this call takes no bytes. */
  async edit(
    queue: string, id: string, change: api.Edit, options?: ChangeOptions,
  ): Promise<void> {
    if (change.payload instanceof Uint8Array)
      throw new SluiceError("invalid_argument", "a job cannot be edited to have bytes");
    await this.#change("PATCH", jobPath(queue, id), change, options);
  }

  /** Takes a finished job away for good. */
  async remove(queue: string, id: string, options?: ChangeOptions): Promise<void> {
    await this.#change("DELETE", jobPath(queue, id), undefined, options);
  }

  // --------------------------------------------------------------------------------------- leases

  /**
   * Takes the jobs that come first, perhaps none. If the answer was lost, the repeat does not wait:
   * it gets the leases that the lost answer told of, or what is there.
   */
  async claim<Payload = unknown>(
    request: api.Claim, options: ChangeOptions = {},
  ): Promise<Lease<Payload>[]> {
    const answer = await this.#send<api.Leases>({
      method: "POST",
      path: "/v1/claim",
      body: JSON.stringify(request),
      // The leases may have been given back when the connection broke. A claim with this key gets
      // no others, and would stand in the way of those behind it for as long as it waited.
      bodyAgain: JSON.stringify({ ...request, wait_ms: 0 }),
      repeatable: true,
      ...options,
      key: options.key ?? newKey(),
      timeoutMs: (options.timeoutMs ?? this.#timeoutMs) + (request.wait_ms ?? 0),
    });
    return answer.leases.map((lease) => fromWire(lease) as Lease<Payload>);
  }

  /** Has a key: without one, a repeat of what has happened would answer lease_lost. */
  async #settle(
    verb: string, { queue, token }: api.Held, members: object, options?: ChangeOptions,
  ): Promise<void> {
    await this.#change("POST", `/v1/${verb}`, { ...members, queue, token }, options);
  }

  /** The job is done. Its children are enqueued with that, or not at all. */
  async ack(
    lease: api.Held, done: { result?: string; children?: Child[] } = {}, options?: ChangeOptions,
  ): Promise<void> {
    const children = done.children && { children: done.children.map(toWire) };
    await this.#settle("ack", lease, { ...done, ...children }, options);
  }

  /** The attempt failed: the job is retried later, or dead. */
  async fail(
    lease: api.Held, why: Members<api.Fail> = {}, options?: ChangeOptions,
  ): Promise<void> {
    await this.#settle("fail", lease, why, options);
  }

  /** Gives the job back untried: the attempt does not count. */
  async release(
    lease: api.Held, how: Members<api.Release> = {}, options?: ChangeOptions,
  ): Promise<void> {
    await this.#settle("release", lease, how, options);
  }

  /**
   * The new deadline. Has no key of its own: a repeat extends once more, and a key would have it
   * answer what was true before.
   */
  async extend(
    { queue, token }: api.Held, how: Members<api.Extend> = {}, options: ChangeOptions = {},
  ): Promise<number> {
    const body = JSON.stringify({ ...how, queue, token });
    const call = { method: "POST", path: "/v1/extend", body, repeatable: true, ...options };
    return (await this.#send<api.Extended>(call)).deadline_at;
  }

  // --------------------------------------------------------------------------------------- queues

  /** All queues by name, page by page as they are asked for. `limit`: of one page. */
  queues(
    query: { limit?: number } = {}, options?: CallOptions,
  ): AsyncGenerator<api.Queue, void, undefined> {
    return this.#pages("queues", "/v1/queues", query, options);
  }

  queue(queue: string, options?: CallOptions): Promise<api.Queue> {
    return this.#get(queuePath(queue), options);
  }

  /** Changes what it names; makes the queue if it does not exist. */
  configure(
    queue: string, change: api.ConfigChange, options?: CallOptions,
  ): Promise<api.Queue> {
    return this.call("PUT", queuePath(queue), change, options);
  }

  /** A paused queue hands out no jobs; everything else goes on. */
  async pause(queue: string, options: CallOptions = {}): Promise<void> {
    const path = `${queuePath(queue)}/pause`;
    await this.#send({ method: "POST", path, repeatable: true, ...options });
  }

  async resume(queue: string, options: CallOptions = {}): Promise<void> {
    const path = `${queuePath(queue)}/resume`;
    await this.#send({ method: "POST", path, repeatable: true, ...options });
  }

  /** Removes a queue that has no jobs. Not repeated: the repeat could not tell what it found. */
  async removeQueue(queue: string, options?: CallOptions): Promise<void> {
    await this.call("DELETE", queuePath(queue), undefined, options);
  }

  /** The groups that have jobs or a limit of their own, by name. `limit`: of one page. */
  groups(
    queue: string, query: { limit?: number } = {}, options?: CallOptions,
  ): AsyncGenerator<api.Group, void, undefined> {
    return this.#pages("groups", `${queuePath(queue)}/groups`, query, options);
  }

  /** How many jobs of the group may be leased at once; null: as many as the queue says. */
  async limitGroup(
    queue: string, group: string, limit: number | null, options?: CallOptions,
  ): Promise<void> {
    await this.call("PUT", `${queuePath(queue)}/groups${part(group)}`, { limit }, options);
  }

  /** Reads the whole store and proves that it is sound. */
  verify(options?: CallOptions): Promise<api.VerifyReport> {
    return this.#get("/v1/verify", options);
  }
}
