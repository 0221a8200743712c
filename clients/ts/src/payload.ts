// SPDX-License-Identifier: MIT
// Payloads: JSON as it is, bytes as base64. One member, `payload`, on this side of the wire.

// String.fromCharCode takes its bytes as arguments, and there is a limit to those.
const CHUNK_BYTES = 32_768;

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES));
  return btoa(text);
}

function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; ++at) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** A job as it is sent. */
export function toWire<Job extends { payload?: unknown }>(job: Job): object {
  if (!(job.payload instanceof Uint8Array)) return job;
  const { payload, ...rest } = job;
  return { ...rest, payload_base64: toBase64(payload) };
}

/** What was answered, with its payload in one place. */
export function fromWire<Wire extends { payload?: unknown; payload_base64?: string }>(
  wire: Wire,
): Omit<Wire, "payload" | "payload_base64"> & { payload: unknown } {
  const { payload, payload_base64: base64, ...rest } = wire;
  return { ...rest, payload: base64 === undefined ? payload : fromBase64(base64) };
}
