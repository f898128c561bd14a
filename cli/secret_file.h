// SPDX-License-Identifier: Apache-2.0
// Reading a secret key file for the key owner's subcommands.
#ifndef HEFT_CLI_SECRET_FILE_H_
#define HEFT_CLI_SECRET_FILE_H_

#include <string>

#include "ckks/owner/secret_key.h"

namespace heft::cli {

// Refuses a file that others may read (kFailedPrecondition), sealed or not: a passphrase can be
// guessed. Asks for the passphrase where one is needed and `passphrase_file` is empty.
absl::StatusOr<ckks::SecretKey> LoadSecretKey(const ckks::Context& context, const std::string& path,
                                              const std::string& passphrase_file);

}  // namespace heft::cli

#endif  // HEFT_CLI_SECRET_FILE_H_
