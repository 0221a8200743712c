// SPDX-License-Identifier: MIT
// What the tests share: the services that ts_client_test.py has started, and waiting.
import { Client, type ClientOptions, type Lease } from "sluice-client";

// A loaded machine is slow; a test never waits for a time, only for a condition.
const PATIENCE_MS = 120_000;

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run ts_client_test.py`);
  return value;
}

/** A service for all tests; each uses queues that no other test uses. */
export const url = variable("SLUICE_URL");
/** One that may be killed. */
export const mortalUrl = variable("SLUICE_MORTAL_URL");

export function newClient(options: Partial<ClientOptions> = {}): Client {
  return new Client({ url, ...options });
}

/** "kill" or "start": when it returns, that has been done to the mortal service. */
export async function mortal(what: "kill" | "start"): Promise<void> {
  const answer = await fetch(`${variable("SLUICE_CONTROL_URL")}/${what}`, { method: "POST" });
  if (!answer.ok) throw new Error(`${what}: ${answer.status} ${await answer.text()}`);
}

/** Returns what `condition` answers as soon as that is true. */
export async function until<Value>(
  condition: () => Value | Promise<Value>, what: string,
): Promise<Value> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > end) throw new Error(`waited in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The lanes of a queue that have jobs. */
export async function counts(queue: string, client = newClient()): Promise<object> {
  const lanes = Object.entries((await client.queue(queue)).counts);
  return Object.fromEntries(lanes.filter(([, count]) => count > 0));
}

/** Enqueues a job and claims it. */
export async function leased(queue: string, id = "j"): Promise<Lease> {
  const client = newClient();
  await client.enqueue(queue, { id });
  const [lease] = await client.claim({ queues: [queue] });
  if (lease?.id !== id) throw new Error(`claimed ${lease?.id} instead of ${id}`);
  return lease;
}

export function range(number: number): number[] {
  return [...Array(number).keys()];
}
