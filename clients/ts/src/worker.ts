// SPDX-License-Identifier: MIT
// A worker: claims jobs, runs a handler on each, and says what became of them.
import type { Client, Lease } from "./client.js";
import { Dead, Release, Retry, SluiceError } from "./errors.js";
import { Keeper, mayPass, type Outcome } from "./keeper.js";
import { newKey } from "./key.js";
import { pauseMs, sleep } from "./pause.js";
import type * as api from "./types.js";

const ERROR_CHARS_MAX = 4_096;
// What a claim takes.
const MAXIMA = { slots: 1_000, leaseMs: 7 * 24 * 3_600_000, waitMs: 300_000 };
// How long a worker that stops asks after the answer that it no longer waits for.
const LAST_CLAIM_MS = 20_000;

export interface Context {
  /** Fires when the lease was lost: somebody else may have the job, and nothing is said for it. */
  signal: AbortSignal;
  /** Shows a word with the job, and extends its lease. */
  progress(text: string): Promise<void>;
}

/**
 * What it returns is the result of the job: a string as it is, undefined as none, anything else as
 * JSON. What it throws fails the attempt; Retry, Dead and Release say more.
 */
export type Handler<Payload = unknown> =
  (lease: Lease<Payload>, context: Context) => unknown | Promise<unknown>;

export interface WorkerOptions<Payload = unknown> {
  client: Client;
  queues: string[];
  handler: Handler<Payload>;
  /** How many jobs at once. Default: 1. */
  slots?: number;
  /** Extended at each third for as long as the handler runs. Default: a minute. */
  leaseMs?: number;
  /** How long a claim waits for a job. Default: 30 s. */
  waitMs?: number;
  /** Shown with the jobs. Default: none. */
  name?: string;
  /**
   * Told what a worker cannot return: that sluiced could not be reached (it goes on trying), that
   * the lease of a job was lost, that what it said about a job was refused. Default: console.error.
   */
  onError?: (error: unknown, lease?: Lease<Payload>) => void;
}

/**
 * Runs jobs until it is stopped, over restarts of sluiced and lost connections.
 *
 * One claim at a time asks for as many jobs as there are free slots. A job whose lease was lost
 * keeps its slot until its handler returns.
 */
export class Worker<Payload = unknown> {
  readonly #options: Required<Omit<WorkerOptions<Payload>, "name">> & { name?: string };
  readonly #running = new Set<Promise<void>>();
  #stop = new AbortController();
  #run: Promise<void> | undefined;

  constructor(options: WorkerOptions<Payload>) {
    const onError = (error: unknown) => console.error("sluice worker:", error);
    this.#options = { slots: 1, leaseMs: 60_000, waitMs: 30_000, onError, ...options };
    for (const [name, max] of Object.entries(MAXIMA)) {
      const value = this.#options[name as keyof typeof MAXIMA];
      if (!Number.isInteger(value) || value < 1 || value > max)
        throw new RangeError(`${name} must be a whole number from 1 to ${max}`);
    }
  }

  /**
   * Works until stop(), or with `drain` until there is nothing to claim. When it returns no handler
   * runs. Throws if a claim is refused for good.
   */
  run({ drain = false } = {}): Promise<void> {
    if (this.#run) throw new Error("this worker is running");
    this.#stop = new AbortController();
    this.#run = this.#work(drain).finally(() => (this.#run = undefined));
    return this.#run;
  }

  /** Claims no more, and returns when what runs is finished. */
  async stop(): Promise<void> {
    this.#stop.abort();
    // Who called run() is told how it ended.
    await this.#run?.catch(() => {});
  }

  async #work(drain: boolean): Promise<void> {
    const { signal } = this.#stop;
    try {
      while (!signal.aborted) {
        const free = this.#options.slots - this.#running.size;
        const leases = free > 0 ? await this.#claim(free, drain ? 0 : this.#options.waitMs) : [];
        for (const lease of leases) this.#begin(lease);
        if (leases.length > 0) continue;
        if (this.#running.size > 0 && (drain || free === 0)) await Promise.race(this.#running);
        else if (drain) return;
      }
    } finally {
      await Promise.all(this.#running);
    }
  }

  /** One claim under one key, until it is known what it got. */
  async #claim(max: number, waitMs: number): Promise<Lease<Payload>[]> {
    const { client, queues, leaseMs, name } = this.#options;
    const { signal } = this.#stop;
    const key = newKey();
    const request = { queues, max, lease_ms: leaseMs, worker: name ?? null };
    for (let tries = 1; ; ++tries) {
      try {
        const wait_ms = tries > 1 ? 0 : waitMs;
        const leases = await client.claim<Payload>({ ...request, wait_ms }, { key, signal });
        if (!signal.aborted) return leases;
        return await this.#giveBack(leases);
      } catch (error) {
        if (signal.aborted) return this.#claimLast(request, key);
        if (!mayPass(error)) throw error;
        this.#options.onError(error);
        await sleep(pauseMs(tries, error.retryAfterMs), signal).catch(() => {});
      }
    }
  }

  /** The answer may have been on its way: the same claim again tells what it was. */
  async #claimLast(request: api.Claim, key: string): Promise<Lease<Payload>[]> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), LAST_CLAIM_MS);
    const options = { key, signal: late.signal };
    const leases = this.#options.client.claim<Payload>(request, options).catch(() => []);
    return this.#giveBack(await leases.finally(() => clearTimeout(timer)));
  }

  /** Leases that came when no more jobs were wanted. */
  async #giveBack(leases: Lease<Payload>[]): Promise<Lease<Payload>[]> {
    const { client, onError } = this.#options;
    await Promise.all(leases.map((lease) =>
      client.release(lease).catch((error) => onError(error, lease))));
    return [];
  }

  #begin(lease: Lease<Payload>): void {
    const job = this.#handle(lease)
      .catch((error) => this.#options.onError(error, lease))
      .finally(() => this.#running.delete(job));
    this.#running.add(job);
  }

  async #handle(lease: Lease<Payload>): Promise<void> {
    const keeper = new Keeper(this.#options.client, lease, this.#options.leaseMs);
    try {
      const outcome = await this.#outcome(lease, keeper);
      await keeper.settle(outcome).catch((error) => {
        if (outcome.verb !== "ack" || !isRefusal(error)) throw error;
        return keeper.settle({ verb: "fail", members: { error: `ack: ${error.message}` } });
      });
    } finally {
      keeper.end();
    }
  }

  async #outcome(lease: Lease<Payload>, keeper: Keeper): Promise<Outcome> {
    const context = {
      signal: keeper.signal,
      progress: (text: string) => keeper.extend(text),
    };
    try {
      const value = await this.#options.handler(lease, context);
      const result = typeof value === "string" ? value : JSON.stringify(value);
      return { verb: "ack", members: result === undefined ? {} : { result } };
    } catch (error) {
      return outcomeOf(error);
    }
  }
}

/** Whether the service will not have it, and the lease is still held. */
function isRefusal(error: unknown): error is SluiceError {
  return error instanceof SluiceError && error.code !== "lease_lost" && !mayPass(error);
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof Release) return { verb: "release", members: { delay_ms: error.delayMs } };
  const text = error instanceof Error ? error.message || error.name : String(error);
  // Half a character is refused by the service.
  const why = { error: text.slice(0, ERROR_CHARS_MAX).replace(/\p{Surrogate}/gu, "\ufffd") };
  if (error instanceof Dead) return { verb: "fail", members: { ...why, dead: true } };
  if (error instanceof Retry && error.delayMs !== undefined)
    return { verb: "fail", members: { ...why, delay_ms: error.delayMs } };
  return { verb: "fail", members: why };
}
