// SPDX-License-Identifier: MIT
// Keys that nobody else makes: two calls of the same key would be one.

// Node 18 keeps it in a module.
const random = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

/** 128 random bits in hex: an Idempotency-Key for one call and its repeats. */
export function newKey(): string {
  const bytes = random.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
