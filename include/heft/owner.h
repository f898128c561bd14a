// SPDX-License-Identifier: Apache-2.0
// The key owner's role: heft::ckks::SecretKey, heft::MakeEvaluationKeys, heft::KeyOwner with its
// heft::QueryBudget, heft::SerializeRekeyingKey; heft::SecureMemoryStatus. SEAL's secret keys
// (heft::seal::ReadSecretKey) are in heft::seal_owner.
#ifndef HEFT_OWNER_H_
#define HEFT_OWNER_H_

#include "base/secure.h"                   // IWYU pragma: export
#include "ckks/owner/flooding.h"           // IWYU pragma: export
#include "ckks/owner/secret_key.h"         // IWYU pragma: export
#include "fusion/owner/keygen.h"           // IWYU pragma: export
#include "fusion/owner/secret_key_file.h"  // IWYU pragma: export
#include "fusion/rekey.h"                  // IWYU pragma: export
#include "gallery/owner/key_owner.h"       // IWYU pragma: export
#include "gallery/owner/query_budget.h"    // IWYU pragma: export
#include "seal/owner/secret_key.h"         // IWYU pragma: export

#endif  // HEFT_OWNER_H_
