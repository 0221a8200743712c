// SPDX-License-Identifier: MIT
// What the tests use of node, so that they compile without its declarations.
declare module "node:test" {
  interface TestContext {
    after(body: () => unknown): void;
  }
  export default function test(
    name: string, body: (context: TestContext) => unknown,
  ): Promise<void>;
}

declare module "node:assert/strict" {
  interface Assert {
    (value: unknown, message?: string): asserts value;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    equal(actual: unknown, expected: unknown, message?: string): void;
    match(text: string, pattern: RegExp, message?: string): void;
    notEqual(actual: unknown, expected: unknown, message?: string): void;
    rejects(
      promise: Promise<unknown>, check: RegExp | object | ((error: any) => boolean),
      message?: string,
    ): Promise<void>;
    throws(body: () => unknown, check: RegExp | object, message?: string): void;
  }
  const assert: Assert;
  export default assert;
}

declare module "node:net" {
  export interface Socket {
    write(data: string | Uint8Array): boolean;
    destroy(): void;
    on(event: "data", body: (data: Uint8Array) => void): this;
    on(event: "close" | "error", body: () => void): this;
  }
  export interface Server {
    listen(port: number, host: string, body: () => void): this;
    address(): { port: number };
    close(): void;
  }
  export function createServer(body: (socket: Socket) => void): Server;
  export function connect(port: number, host: string): Socket;
}

declare const process: { env: Record<string, string | undefined> };
