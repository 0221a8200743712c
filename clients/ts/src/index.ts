// SPDX-License-Identifier: MIT
// A client for sluiced.
export {
  Client, type CallOptions, type ChangeOptions, type Child, type ClientOptions, type EnqueueResult,
  type Job, type Lease, type ListedJob, type NewJob,
} from "./client.js";
export { SluiceError, type ErrorCode, type ErrorDetails } from "./errors.js";
/** The types of the API as its document has them. */
export * as api from "./types.js";
