// SPDX-License-Identifier: Apache-2.0
// HEFT's C interface: start here. Pure C11, with a stable binary interface (docs/abi.md), for C and
// for every language that calls C. Four roles share a model and exchange bytes only:
//
//   role        header               it has                                 link
//   learning    heft/c/learning.h    vectors of people who agreed to it     heft_c
//   client      heft/c/client.h      the encryption key                     heft_c_server
//   server      heft/c/matcher.h     the evaluation keys, a gallery         heft_c_server
//   auditor     heft/c/audit.h       a copy of the gallery, the same keys   heft_c_server
//   key owner   heft/c/key_owner.h   the secret key, a query budget         heft_c
//
// heft_c (pkg-config heft_c, CMake heft::c) has all of it; heft_c_server is the part that cannot
// decrypt. A program links one of them. examples/roles_in_c.c shows all roles on one page.
//
// Objects are opaque and made by functions that hand out a pointer; who gets one frees it, once,
// with the function of its type (NULL is allowed), or lets the end of a block do it (HEFT_AUTO,
// heft/c/base.h). Nothing keeps pointers to what it was given when it returns, but for what a
// comment says. An object that is not freed may be used by several threads at once in calls that
// take it as const.
//
// Every function that can fail returns a heft_status, and writes its outputs only where that is
// HEFT_OK: on error, outputs, objects and files are as they were. The last argument takes the
// error's text (heft/c/base.h). No C++ exception leaves a call; one thing aborts: an operating
// system without randomness. A NULL that is not allowed, a freed object or one of another type is
// answered with HEFT_INVALID_ARGUMENT as far as that can be seen.
//
// Text is UTF-8 and ends with a zero byte; ids and public keys are hexadecimal digits; times are
// Unix seconds. What C++ programs know of the same functions is in heft/*.h: each comment here
// names its counterpart where it does not bear the same name.
#ifndef HEFT_INCLUDE_HEFT_H_
#define HEFT_INCLUDE_HEFT_H_

#include "heft/c/audit.h"      // IWYU pragma: export
#include "heft/c/base.h"       // IWYU pragma: export
#include "heft/c/client.h"     // IWYU pragma: export
#include "heft/c/gallery.h"    // IWYU pragma: export
#include "heft/c/key_owner.h"  // IWYU pragma: export
#include "heft/c/learning.h"   // IWYU pragma: export
#include "heft/c/matcher.h"    // IWYU pragma: export
#include "heft/c/model.h"      // IWYU pragma: export
#include "heft/c/shards.h"     // IWYU pragma: export
#include "heft/c/trust.h"      // IWYU pragma: export

#endif  // HEFT_INCLUDE_HEFT_H_
