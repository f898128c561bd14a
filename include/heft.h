// SPDX-License-Identifier: Apache-2.0
// HEFT's C interface: start here. It is pure C11 with a stable binary interface (docs/abi.md), for
// C and every language that calls C. Four roles share a model and exchange bytes only:
//
//    role        header               it has                                 link
//    learning    heft/c/model.h       vectors of people who agreed to it     heft_c
//    measuring   heft/c/evaluate.h    the same, and scores of all pairs      heft_c
//    client      heft/c/client.h      the encryption key                     heft_c_server
//    server      heft/c/matcher.h     the evaluation keys, a gallery         heft_c_server
//    auditor     heft/c/matcher.h     a copy of the gallery, the same keys   heft_c_server
//    key owner   heft/c/key_owner.h   the secret key, a query budget         heft_c
//    all roles   heft/c/key_owner.h   a folder for each of them              heft_c
//
// heft_c (pkg-config heft_c, CMake heft::c) has all of it; heft_c_server is the part that cannot
// decrypt. A program links one of them. examples/roles_in_c.c shows all roles on one page.
//
// Objects are opaque. A function that creates one hands out a pointer. The caller frees it once,
// with the function of its type (NULL is allowed) or by HEFT_AUTO at the end of a block
// (heft/c/base.h). No function keeps pointers to its arguments unless its comment says so. Several
// threads may use an object at once in calls that take it as const.
//
// Every function that can fail returns a heft_status and writes its outputs only on HEFT_OK: on
// error, outputs, objects and files are unchanged. The last argument takes the error's text
// (heft/c/base.h). No C++ exception leaves a call. Only one condition aborts: an operating system
// without randomness. A NULL that is not allowed returns HEFT_INVALID_ARGUMENT; so does a freed
// object or one of another type, where it can be detected.
//
// Text is UTF-8 and ends with a zero byte. Ids and public keys are hexadecimal digits. Times are
// Unix seconds. The C++ headers heft/*.h describe the same functions in more detail; a comment here
// names its C++ counterpart if the names differ.
#ifndef HEFT_INCLUDE_HEFT_H_
#define HEFT_INCLUDE_HEFT_H_

#include "heft/c/base.h"       // IWYU pragma: export
#include "heft/c/client.h"     // IWYU pragma: export
#include "heft/c/evaluate.h"   // IWYU pragma: export
#include "heft/c/gallery.h"    // IWYU pragma: export
#include "heft/c/key_owner.h"  // IWYU pragma: export
#include "heft/c/matcher.h"    // IWYU pragma: export
#include "heft/c/model.h"      // IWYU pragma: export
#include "heft/c/seal.h"       // IWYU pragma: export
#include "heft/c/trust.h"      // IWYU pragma: export

#endif  // HEFT_INCLUDE_HEFT_H_
