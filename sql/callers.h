// SPDX-License-Identifier: Apache-2.0
// Who calls, and what he may: the settings (GUCs), the caller's sight of a gallery, and the call
// with the owner's rights. postgres.h goes before this.
#ifndef HEFT_SQL_CALLERS_H_
#define HEFT_SQL_CALLERS_H_

#include "sql/bridge.h"

// HeftMay: what a function does: reads; reads, and signs what it answers; changes; makes a gallery,
// for the tenant `key` of the call.
typedef enum HeftMay { HEFT_MAY_READ, HEFT_MAY_SIGN, HEFT_MAY_CHANGE, HEFT_MAY_CREATE } HeftMay;

// RunFor: the call of a function, done (RunJob).
HeftJob* RunFor(Oid function, const HeftCall* call, HeftMay may);

#endif  // HEFT_SQL_CALLERS_H_
