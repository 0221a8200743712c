// SPDX-License-Identifier: MIT
// Keeps one lease until the job is settled, and says so when it is lost.
import type { Client, Lease } from "./client.js";
import { SluiceError } from "./errors.js";
import { newKey } from "./key.js";
import { pauseMs, sleep } from "./pause.js";

/** Whether the same call may do better later. */
export function mayPass(error: unknown): error is SluiceError {
  return error instanceof SluiceError &&
    (error.code === "no_answer" || error.status === 429 || (error.status ?? 0) >= 500);
}

/** What a worker says at last about a job. */
export type Outcome =
  | { verb: "ack"; members: { result?: string } }
  | { verb: "fail"; members: { error: string; delay_ms?: number; dead?: boolean } }
  | { verb: "release"; members: { delay_ms: number } };

/**
 * Extends the lease after each third of it. It is lost when the service says so, and when so much
 * time has passed since the last word that it must be over.
 */
export class Keeper {
  readonly #client: Client;
  readonly #lease: Lease;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  readonly #settled = new AbortController();
  #deadline: ReturnType<typeof setTimeout> | undefined;

  constructor(client: Client, lease: Lease, leaseMs: number) {
    this.#client = client;
    this.#lease = lease;
    this.#leaseMs = leaseMs;
    this.#heldFor(leaseMs);
    void this.#keep();
  }

  /** Fires when the lease was lost; its reason is a SluiceError. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Extends the lease now. Throws if that fails, also for want of an answer. */
  async extend(progress?: string): Promise<void> {
    const begin = performance.now();
    const told = progress === undefined ? {} : { progress };
    try {
      await this.#client.extend(this.#lease, { lease_ms: this.#leaseMs, ...told },
        { signal: this.signal });
    } catch (error) {
      // Once the job is being settled, that may be why its lease is over.
      const held = !this.#settled.signal.aborted;
      if (held && error instanceof SluiceError && error.code === "lease_lost") this.#lose(error);
      throw error;
    }
    if (this.signal.aborted || this.#settled.signal.aborted) return;
    // Counted from before the call: the service may have done it at any moment since.
    this.#heldFor(begin + this.#leaseMs - performance.now());
  }

  /**
   * Says what became of the job, and repeats that for as long as the lease may be held. Throws what
   * the service refuses, and the reason of the signal if the lease is lost before it is said.
   */
  async settle({ verb, members }: Outcome): Promise<void> {
    this.#settled.abort();
    const options = { key: newKey(), signal: this.signal };
    for (let tries = 1; ; ++tries) {
      try {
        return await this.#client[verb](this.#lease, members, options);
      } catch (error) {
        if (this.signal.aborted || !mayPass(error)) throw error;
        await sleep(pauseMs(tries, error.retryAfterMs), this.signal);
      }
    }
  }

  /** Lets go of the lease, whatever became of it. */
  end(): void {
    this.#settled.abort();
    clearTimeout(this.#deadline);
  }

  async #keep(): Promise<void> {
    const { signal } = this.#settled;
    let tries = 0;
    for (let pause = this.#leaseMs / 3; ;) {
      try {
        await sleep(pause, signal);
        await this.extend();
        tries = 0;
        pause = this.#leaseMs / 3;
      } catch (error) {
        if (signal.aborted || this.signal.aborted) return;
        // A call that is refused for good leaves the job to the deadline.
        if (!mayPass(error)) return;
        pause = Math.min(pauseMs(++tries, error.retryAfterMs), this.#leaseMs / 3);
      }
    }
  }

  #heldFor(ms: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => {
      const message = `nothing was heard of the lease of ${this.#lease.id} until it was over`;
      this.#lose(new SluiceError("lease_lost", message));
    }, ms);
  }

  #lose(why: SluiceError): void {
    clearTimeout(this.#deadline);
    this.#lost.abort(why);
  }
}
