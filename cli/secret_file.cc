// SPDX-License-Identifier: Apache-2.0
#include "cli/secret_file.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/secure.h"
#include "cli/common.h"
#include "fusion/owner/secret_key_file.h"

namespace heft::cli {

absl::StatusOr<ckks::SecretKey> LoadSecretKey(const ckks::Context& context, const std::string& path,
                                              const std::string& passphrase_file) {
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path, 1 << 20));
  HEFT_ASSIGN_OR_RETURN(const bool sealed, SecretKeyIsSealed(bytes, path));
  struct stat info;
  if (!sealed && stat(path.c_str(), &info) == 0 && (info.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": others may read this secret key: chmod 600 ", path));
  }
  std::string passphrase;
  if (sealed) {
    HEFT_ASSIGN_OR_RETURN(passphrase, ReadPassphrase(passphrase_file, /*confirm=*/false));
  }
  auto key = ParseSecretKey(context, bytes, passphrase, path);
  SecureWipe(bytes.data(), bytes.size());
  SecureWipe(passphrase.data(), passphrase.size());
  return key;
}

}  // namespace heft::cli
