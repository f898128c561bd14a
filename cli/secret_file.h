// SPDX-License-Identifier: Apache-2.0
// A secret key file, and the record of queries beside it, for the key owner's subcommands.
#ifndef HEFT_CLI_SECRET_FILE_H_
#define HEFT_CLI_SECRET_FILE_H_

#include <memory>
#include <string>

#include "ckks/owner/secret_key.h"
#include "gallery/owner/query_budget.h"

namespace heft::cli {

// Refuses a file that others may read (kFailedPrecondition), sealed or not: a passphrase can be
// guessed. Asks for the passphrase where one is needed and `passphrase_file` is empty.
absl::StatusOr<ckks::SecretKey> LoadSecretKey(const ckks::Context& context, const std::string& path,
                                              const std::string& passphrase_file);

// Where the record of a key's queries is: `budget_file`, or beside the secret key if that is empty.
std::string BudgetPath(const std::string& secret_key, const std::string& budget_file);

}  // namespace heft::cli

#endif  // HEFT_CLI_SECRET_FILE_H_
