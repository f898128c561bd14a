// SPDX-License-Identifier: Apache-2.0
// What the key owner's service is told by its file (docs/operations.md has every key).
#ifndef HEFT_SERVICE_DECIDER_CONFIG_H_
#define HEFT_SERVICE_DECIDER_CONFIG_H_

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/trust.h"
#include "service/run/config_reader.h"
#include "service/run/daemon.h"

namespace heft::service {

// PassphraseFrom: where the passphrase of the secret key comes from; never the environment or the
// command line, which others can read.
enum class PassphraseFrom {
  kCredential,  // $CREDENTIALS_DIRECTORY/passphrase (systemd's LoadCredential)
  kDescriptor,  // an open file descriptor
  kSealed,      // a file, encrypted under a key that stays in a token (PKCS#11)
  kNone,        // the key is not sealed: for experiments
};

struct KeyConfig {
  std::string model, secret_key, trust;
  PassphraseFrom passphrase = PassphraseFrom::kCredential;
  int descriptor = -1;
  std::string sealed_passphrase, seal;
  bool lock_memory = true;
  bool signed_gallery = false;
};

// GalleryRule: what is decided of one gallery.
struct GalleryRule {
  std::string name;            // for people
  std::optional<double> fpir;  // of searches; none: they are refused
  std::optional<double> fmr;   // of verifications; none: they are refused
  bool automatic = true;       // who is sound is admitted; otherwise a person decides
  bool new_identities_only = false;
};

struct DeciderConfig {
  CommonConfig common;
  KeyConfig key;
  std::string decision_key;  // that decisions are signed with: PEM file or "pkcs11:..."
  std::vector<std::string> retired_keys;  // PEM files of public keys that are still shown
  std::string issuer;
  std::chrono::seconds life{300};  // of a decision
  bool likelihood = true;
  std::string state_folder;
  std::map<GalleryId, GalleryRule> galleries;
};

// ReadDeciderConfig: kInvalidArgument, with all that is wrong, by file and line.
absl::StatusOr<DeciderConfig> ReadDeciderConfig(const std::string& path);
absl::StatusOr<DeciderConfig> ReadDeciderConfig(const Config& config);

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_CONFIG_H_
