// SPDX-License-Identifier: Apache-2.0
// How the key owner's service protects its secrets: its memory is not swapped, dumped or traced,
// and the passphrase never comes from the environment or the command line.
#ifndef HEFT_SERVICE_DECIDER_SECRETS_H_
#define HEFT_SERVICE_DECIDER_SECRETS_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/secure.h"
#include "heft/trust.h"
#include "service/decider/config.h"

namespace heft::service {

// ProtectProcess: forbids core dumps, debuggers of the same user, and (`lock_memory`) swapping.
// kFailedPrecondition says what to allow if the system refuses to lock.
absl::Status ProtectProcess(bool lock_memory);

// PassphraseKeeper: gives the passphrase whenever the key is loaded: at the start and at each
// reload of the configuration. A descriptor can be read only once, so its passphrase is kept in
// locked memory; other sources are read again.
class PassphraseKeeper {
 public:
  // A source for heft/key_owner.h; this object must outlive it. Empty for keys that are not sealed.
  PassphraseSource Source(const KeyConfig& config);

 private:
  absl::StatusOr<std::string> FromDescriptor(int descriptor);

  std::mutex mutex_;
  bool read_ = false;
  SecureVector<char> kept_;
};

// ReadPassphraseFile: the first line of a file that only its owner can read. kFailedPrecondition if
// others can read it, kNotFound, kInvalidArgument if it is empty.
absl::StatusOr<std::string> ReadPassphraseFile(const std::string& path);
// ReadCredential: the same for a file that systemd made. Its owner may be root, with an access list
// for the service, which looks like group permissions. kFailedPrecondition if others can read it.
absl::StatusOr<std::string> ReadCredential(const std::string& folder, const std::string& name);
// UnsealPassphrase: opens a file that `openssl pkeyutl -encrypt -pkeyopt rsa_padding_mode:oaep`
// wrote for the RSA key `seal` (PEM file or "pkcs11:...").
absl::StatusOr<std::string> UnsealPassphrase(const std::string& path, const std::string& seal);

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_SECRETS_H_
