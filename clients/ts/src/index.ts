// SPDX-License-Identifier: MIT
// A client and a worker for sluiced. README.md tells how they are used.
export {
  Client, type CallOptions, type ChangeOptions, type Child, type ClientOptions, type EnqueueResult,
  type Job, type Lease, type ListedJob, type NewJob,
} from "./client.js";
export { Dead, Release, Retry, SluiceError, type ErrorCode, type ErrorDetails } from "./errors.js";
export { Worker, type Context, type Handler, type WorkerOptions } from "./worker.js";
/** The types of the API as its document has them. */
export * as api from "./types.js";
