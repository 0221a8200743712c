// SPDX-License-Identifier: MIT
// The one thing of node that is used where the web's own is missing.
declare module "node:crypto" {
  export const webcrypto: Crypto;
}
