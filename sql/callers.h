// SPDX-License-Identifier: Apache-2.0
// The caller and its rights: settings (GUCs), which galleries the caller sees, and the call with
// the owner's rights. Include postgres.h before this.
#ifndef HEFT_SQL_CALLERS_H_
#define HEFT_SQL_CALLERS_H_

#include "sql/bridge.h"

// HeftMay: what a function does: it reads; it reads and signs its answer; it changes a gallery; or
// it creates one, for the tenant in `key` of the call.
typedef enum HeftMay { HEFT_MAY_READ, HEFT_MAY_SIGN, HEFT_MAY_CHANGE, HEFT_MAY_CREATE } HeftMay;

// RunFor: the finished job of a function's call (RunJob).
HeftJob* RunFor(Oid function, const HeftCall* call, HeftMay may);

#endif  // HEFT_SQL_CALLERS_H_
