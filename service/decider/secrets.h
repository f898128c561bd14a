// SPDX-License-Identifier: Apache-2.0
// How the key owner's service keeps its secrets to itself: nothing of it is swapped, dumped or
// traced, and the passphrase comes neither by the environment nor by the command line.
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

// ProtectProcess: no core dumps, no debugger of the same user, and (`lock_memory`) no page of it on
// a disk. kFailedPrecondition, saying what to allow, where the system refuses to lock.
absl::Status ProtectProcess(bool lock_memory);

// PassphraseKeeper: gives the passphrase as often as the key is loaded: at the start, and when the
// configuration is read anew. What came by a descriptor can be read once, so it is kept, in locked
// memory; the rest is read again.
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

// ReadPassphraseFile: the first line of a file that nobody else may read. kFailedPrecondition
// otherwise, kNotFound, kInvalidArgument for an empty one.
absl::StatusOr<std::string> ReadPassphraseFile(const std::string& path);
// ReadCredential: the same of a file that systemd put there: root's, perhaps, with a list of who
// else reads it, which looks like permissions of a group. kFailedPrecondition where it is open to
// others.
absl::StatusOr<std::string> ReadCredential(const std::string& folder, const std::string& name);
// UnsealPassphrase: of a file that `openssl pkeyutl -encrypt -pkeyopt rsa_padding_mode:oaep` wrote
// for the RSA key `seal` (PEM file or "pkcs11:...").
absl::StatusOr<std::string> UnsealPassphrase(const std::string& path, const std::string& seal);

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_SECRETS_H_
