// SPDX-License-Identifier: Apache-2.0
// HEFT: start here. Three roles, one header each; they share models and exchange bytes only.
//
//   heft/client.h   encrypts feature vectors under an encryption key     link heft::fusion
//   heft/server.h   fuses, enrols and matches what it cannot read        link heft::gallery
//   heft/owner.h    makes keys, opens encrypted scores, decides          link heft::key_owner
//   heft/seal.h     exchanges objects with Microsoft SEAL                link heft::seal
//   heft/learn.h    learns a model from feature vectors                  link heft::learning
//
// A server must not include heft/owner.h: what it links cannot decrypt. examples/roles.cc shows all
// roles on one page. Every fallible call returns absl::Status or absl::StatusOr (base/status.h).
#ifndef HEFT_HEFT_H_
#define HEFT_HEFT_H_

#include "heft/model.h"  // IWYU pragma: export

#endif  // HEFT_HEFT_H_
