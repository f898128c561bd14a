// SPDX-License-Identifier: Apache-2.0
#include "cli/secret_file.h"

#include "base/files.h"
#include "base/secure.h"
#include "cli/common.h"
#include "fusion/owner/secret_key_file.h"

namespace heft::cli {

absl::StatusOr<ckks::SecretKey> LoadSecretKey(const ckks::Context& context, const std::string& path,
                                              const std::string& passphrase_file) {
  HEFT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(path, 1 << 20));
  HEFT_ASSIGN_OR_RETURN(const bool sealed, SecretKeyIsSealed(file.bytes.span(), path));
  HEFT_RETURN_IF_ERROR(file.permissions);
  std::string passphrase;
  if (sealed) {
    HEFT_ASSIGN_OR_RETURN(passphrase, ReadPassphrase(passphrase_file, /*confirm=*/false));
  }
  auto key = ParseSecretKey(context, file.bytes.span(), passphrase, path);
  SecureWipe(passphrase.data(), passphrase.size());
  return key;
}

std::string BudgetPath(const std::string& secret_key, const std::string& budget_file) {
  return budget_file.empty() ? secret_key + ".budget" : budget_file;
}

}  // namespace heft::cli
