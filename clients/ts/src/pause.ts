// SPDX-License-Identifier: MIT
// How long to wait before a call is repeated, and the waiting.

const BASE_MS = 100;
const CAP_MS = 5_000;
/** Who asks for more than this is told to the caller instead of being waited for. */
export const RETRY_AFTER_MS_MAX = 10_000;

/**
 * Before try number `tries + 1`: doubling up to a cap, and not before the service asked for it. The
 * share that chance decides keeps those who failed together from coming back together.
 */
export function pauseMs(tries: number, retryAfterMs = 0, chance = Math.random()): number {
  const backoff = Math.min(CAP_MS, BASE_MS * 2 ** (tries - 1));
  return Math.max(backoff / 2, retryAfterMs) + (backoff / 2) * chance;
}

/** Returns after `ms`; rejects with the reason of the signal if that fires before. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const wake = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", wake);
      resolve();
    }, ms);
    signal?.addEventListener("abort", wake, { once: true });
  });
}
