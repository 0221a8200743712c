// SPDX-License-Identifier: MIT
// Cuts many jobs into bodies that the service takes.
import { toWire } from "./payload.js";

const JOBS_MAX = 10_000;
const HEAD = '{"jobs":[';
const TAIL = "]}";

/** Bodies of as many jobs as fit. A job that is too large by itself goes alone, to be refused. */
export async function* toBatches(
  jobs: Iterable<{ payload?: unknown }> | AsyncIterable<{ payload?: unknown }>,
  bytesMax: number,
): AsyncGenerator<string, void, undefined> {
  const encoder = new TextEncoder();
  const frame = HEAD.length + TAIL.length;
  let batch: string[] = [];
  let bytes = frame;
  for await (const job of jobs) {
    const text = JSON.stringify(toWire(job));
    const more = encoder.encode(text).length + 1;
    if (batch.length === JOBS_MAX || (batch.length > 0 && bytes + more > bytesMax)) {
      yield HEAD + batch.join() + TAIL;
      batch = [];
      bytes = frame;
    }
    batch.push(text);
    bytes += more;
  }
  if (batch.length > 0) yield HEAD + batch.join() + TAIL;
}
