// SPDX-License-Identifier: MIT
// One call over HTTP: its tries, and what is made of the answers.
import { SluiceError, type ErrorCode } from "./errors.js";
import { pauseMs, RETRY_AFTER_MS_MAX, sleep } from "./pause.js";

export interface Call {
  method: string;
  path: string;
  /** JSON. */
  body?: string | undefined;
  /** That of the repeats, if it is another one. */
  bodyAgain?: string | undefined;
  key?: string | undefined;
  /** Whether having happened twice is the same as once. */
  repeatable: boolean;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export interface TransportOptions {
  url: string;
  token?: string | undefined;
  fetch: typeof fetch;
  retriesMax: number;
}

// Of failures to connect: nothing was sent, so nothing has happened.
const UNSENT = new Set([
  "EAI_AGAIN", "ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** What an answer that is not of sluiced's JSON means. Text is how it answers what is no call. */
function codeOf(status: number): ErrorCode {
  if (status === 401 || status === 403) return "permission_denied";
  if (status === 429) return "limit_exceeded";
  if (status === 503) return "unavailable";
  // How a proxy says that it got no answer itself.
  if (status === 502 || status === 504) return "no_answer";
  return status >= 400 && status < 500 ? "invalid_argument" : "bad_answer";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failureOf(response: Response, text: string): SluiceError {
  const { status } = response;
  const seconds = response.headers.get("retry-after")?.match(/^\d+$/)?.[0];
  const retryAfterMs = seconds === undefined ? {} : { retryAfterMs: Number(seconds) * 1000 };
  const said = (parse(text) as { error?: { code?: string; message?: string; advice?: string } })
    ?.error;
  if (said?.code && said.message) {
    const advice = said.advice === undefined ? {} : { advice: said.advice };
    const uncertain = said.code === "commit_unknown";
    return new SluiceError(said.code as ErrorCode, said.message, {
      status, uncertain, ...advice, ...retryAfterMs,
    });
  }
  const code = codeOf(status);
  const uncertain = status >= 500;
  const message = text.trim().slice(0, 500) || `HTTP status ${status}`;
  return new SluiceError(code, message, { status, uncertain, ...retryAfterMs });
}

function noAnswer(error: unknown, timeoutMs: number | undefined): SluiceError {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  if (cause?.code !== undefined && UNSENT.has(cause.code))
    return new SluiceError("no_answer", `cannot connect: ${cause.message || cause.code}`, {
      advice: "Check the address, and whether sluiced runs.", cause: error,
    });
  const message = timeoutMs === undefined
    ? `the connection was lost: ${cause?.message ?? (error as Error).message}`
    : `no answer within ${timeoutMs} ms`;
  return new SluiceError("no_answer", message, {
    advice: "It may have happened: repeat it with its key, or look.", uncertain: true,
    cause: error,
  });
}

/** The base address without a slash at its end. Throws if it is none of HTTP. */
function baseOf(url: string): string {
  const { protocol, search, hash } = new URL(url);
  if (!/^https?:$/.test(protocol) || search || hash)
    throw new TypeError(`not the address of an HTTP service: ${url}`);
  return url.replace(/\/+$/, "");
}

/** Sends calls, and repeats those that may be repeated. Holds no state between calls. */
export class Transport {
  readonly #base: string;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#base = baseOf(options.url);
    this.#options = options;
  }

  /** The value of the answer. Throws a SluiceError, or the reason of the signal if that fires. */
  async send(call: Call): Promise<unknown> {
    const headers = this.#headers(call);
    let uncertain = false;
    for (let tries = 1; ; ++tries) {
      const answer = await this.#try(call, headers, tries > 1 ? call.bodyAgain : undefined);
      if (!(answer instanceof SluiceError)) return answer.value;
      uncertain ||= answer.uncertain && call.method !== "GET";
      if (tries > this.#options.retriesMax || !mayRepeat(call, answer))
        throw answer.with(call.key === undefined ? { uncertain } : { uncertain, key: call.key });
      await sleep(pauseMs(tries, answer.retryAfterMs), call.signal);
    }
  }

  /** Throws a TypeError if a token or a key cannot be a header. */
  #headers(call: Call): Record<string, string> {
    const headers = new Headers();
    if (call.body !== undefined) headers.set("content-type", "application/json");
    if (call.key !== undefined) headers.set("idempotency-key", call.key);
    if (this.#options.token !== undefined)
      headers.set("authorization", `Bearer ${this.#options.token}`);
    return Object.fromEntries(headers);
  }

  async #try(
    call: Call, headers: Record<string, string>, body = call.body,
  ): Promise<{ value: unknown } | SluiceError> {
    const stop = new AbortController();
    const abort = () => stop.abort();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      abort();
    }, call.timeoutMs);
    if (call.signal?.aborted) abort();
    call.signal?.addEventListener("abort", abort);
    try {
      const init = { method: call.method, headers, signal: stop.signal };
      const response = await this.#options.fetch(
        this.#base + call.path, body === undefined ? init : { ...init, body },
      );
      const text = await response.text();
      if (!response.ok) return failureOf(response, text);
      const value = parse(text);
      if (value !== undefined) return { value };
      const { status } = response;
      return new SluiceError("bad_answer", "the answer is not JSON", { status, uncertain: true });
    } catch (error) {
      if (call.signal?.aborted) throw call.signal.reason;
      return noAnswer(error, late ? call.timeoutMs : undefined);
    } finally {
      clearTimeout(timer);
      call.signal?.removeEventListener("abort", abort);
    }
  }
}

/** Whether the failure may pass, and a repeat can do no harm. */
function mayRepeat(call: Call, failure: SluiceError): boolean {
  const passing = failure.code === "no_answer" || failure.status === 429 || failure.status === 503;
  if (!passing || (failure.retryAfterMs ?? 0) > RETRY_AFTER_MS_MAX) return false;
  return call.repeatable || !failure.uncertain;
}
