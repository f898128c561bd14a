// SPDX-License-Identifier: Apache-2.0
// The configuration of the key owner's service (docs/operations.md lists every key).
#ifndef HEFT_SERVICE_DECIDER_CONFIG_H_
#define HEFT_SERVICE_DECIDER_CONFIG_H_

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/shards.h"
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
  std::string model = {}, secret_key = {}, trust = {};
  PassphraseFrom passphrase = PassphraseFrom::kCredential;
  int descriptor = -1;
  std::string sealed_passphrase = {}, seal = {};
  bool lock_memory = true;
  bool signed_gallery = false;
};

// GalleryRule: the rule for decisions of one gallery, or of one in buckets (heft/shards.h).
struct GalleryRule {
  std::string name = {};            // for people
  std::optional<double> fpir = {};  // of searches; none: they are refused
  std::optional<double> fmr = {};   // of verifications; none: they are refused
  bool automatic = true;            // approve sound templates; false: a person decides
  bool new_identities_only = false;
  std::string shard_list = {};  // file; of a gallery in buckets
  // The content of the shard list, and the bucket of this rule, once the list is read.
  std::shared_ptr<const ShardList> shards = {};
  uint32_t bucket = 0;

  // FullName: the name of the gallery, or of its bucket ("people.003").
  std::string FullName() const { return shards ? BucketAddress(name, bucket) : name; }
};

// FellowConfig: another owner of the shared key, and its decider.
struct FellowConfig {
  uint32_t owner = 0;     // its number
  std::string name = {};  // as its certificate's rule names it
  std::string url = {};
  TlsFiles tls = {};                     // for requests to it
  std::chrono::milliseconds wait{2000};  // for its answer to one request
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
  std::vector<FellowConfig> fellows;  // of a share
  std::vector<GalleryRule> sharded;   // in buckets, whose lists LoadDeciderState reads

  // The number of galleries with a rule; a gallery in buckets counts once.
  size_t RuledGalleries() const;
};

// ReadDeciderConfig: kInvalidArgument with all errors, each with file and line.
absl::StatusOr<DeciderConfig> ReadDeciderConfig(const std::string& path);
absl::StatusOr<DeciderConfig> ReadDeciderConfig(const Config& config);

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_CONFIG_H_
