// SPDX-License-Identifier: Apache-2.0
// The server's role: heft::Server with Enrol, Identify and Verify over heft::Gallery;
// heft::ParseRekeyingKey and Gallery::Rekey.
#ifndef HEFT_SERVER_H_
#define HEFT_SERVER_H_

#include "fusion/rekey.h"     // IWYU pragma: export
#include "gallery/gallery.h"  // IWYU pragma: export
#include "gallery/scores.h"   // IWYU pragma: export
#include "gallery/server.h"   // IWYU pragma: export

#endif  // HEFT_SERVER_H_
