// SPDX-License-Identifier: MIT
// How calls fail, and how handlers say what becomes of a job.
import type { Code, Enqueued, Error as ItemError } from "./types.js";

/**
 * The codes of the service, and two of the client: `no_answer` if none came (the connection was
 * lost, or the time was over), `bad_answer` if what came is none of sluiced's.
 */
export type ErrorCode = Code | "no_answer" | "bad_answer";

export interface ErrorDetails {
  status?: number;
  advice?: string;
  retryAfterMs?: number;
  uncertain?: boolean;
  key?: string;
  results?: (Enqueued | ItemError)[];
  cause?: unknown;
}

/** Why a call failed. */
export class SluiceError extends Error {
  override readonly name = "SluiceError";
  /** What to do about this code. */
  readonly advice: string;
  /** Of the HTTP answer, if there was one. */
  readonly status: number | undefined;
  /** How long the service asked to wait before the next try. */
  readonly retryAfterMs: number | undefined;
  /** The call may have happened all the same: repeat it with its key, or look. */
  readonly uncertain: boolean;
  /** The Idempotency-Key that the call had. */
  readonly key: string | undefined;
  /** Of enqueueMany: what became of the jobs before those that failed. */
  readonly results: (Enqueued | ItemError)[] | undefined;

  readonly #details: ErrorDetails;

  constructor(readonly code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.#details = details;
    this.advice = details.advice ?? "";
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.uncertain = details.uncertain ?? false;
    this.key = details.key;
    this.results = details.results;
  }

  /** The same with more details. */
  with(details: ErrorDetails): SluiceError {
    return new SluiceError(this.code, this.message, { ...this.#details, ...details });
  }
}

/** Thrown by a handler: the attempt failed, and the next one comes after `delayMs`. */
export class Retry extends Error {
  override readonly name = "Retry";
  readonly delayMs: number | undefined;

  /** Without delayMs: as the retry policy of the job says. */
  constructor(message: string, options: { delayMs?: number } = {}) {
    super(message);
    this.delayMs = options.delayMs;
  }
}

/** Thrown by a handler: the job is dead, however many attempts are left. */
export class Dead extends Error {
  override readonly name = "Dead";
}

/** Thrown by a handler: the job goes back as if it had not been tried. */
export class Release extends Error {
  override readonly name = "Release";
  readonly delayMs: number;

  constructor(options: { delayMs?: number } = {}) {
    super("released");
    this.delayMs = options.delayMs ?? 0;
  }
}
