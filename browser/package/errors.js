// SPDX-License-Identifier: Apache-2.0
// HeftError: says which input was wrong, and what to do. `kind` is a code of the service and the
// library: INVALID_ARGUMENT, DATA_LOSS, FAILED_PRECONDITION, UNAVAILABLE, ...
export class HeftError extends Error {
  constructor(kind, message, more = {}) {
    super(message);
    this.name = 'HeftError';
    this.kind = kind;
    Object.assign(this, more);
  }
}
