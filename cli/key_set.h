// SPDX-License-Identifier: Apache-2.0
// A new secret key with all that goes with it, for keygen and rekey.
#ifndef HEFT_CLI_KEY_SET_H_
#define HEFT_CLI_KEY_SET_H_

#include <string>
#include <vector>

#include "ckks/owner/secret_key.h"
#include "cli/common.h"
#include "fusion/plan.h"

namespace heft::cli {

// Where a key set lies, in one folder.
struct KeyFolder {
  explicit KeyFolder(const std::string& folder);
  std::string folder, secret, encryption, evaluation;

  // kAlreadyExists if a key is there; with `but_public`, if a secret key is.
  absl::Status CheckVacant(bool but_public) const;
  // After a failure: a second attempt must not find half a set.
  void Remove() const;
};

// How the new secret key is sealed.
struct SealOptions {
  bool ask = false;       // for a passphrase, on the terminal
  std::string file;       // or take its first line
  bool unsealed = false;  // or none, and say nothing about it
};
// `prefix` comes before "passphrase" in the options' names.
void AddSealOptions(Command command, const std::string& prefix, SealOptions* options);
// The passphrase, empty for none, which stderr warns of unless it was asked for.
absl::StatusOr<std::string> ChoosePassphrase(const Common& common, const SealOptions& options);

// Makes encryption and evaluation keys and writes the set, the secret key last: without it the
// others are of no use, with it they must be there. `with_secret` false leaves it out, and then
// replaces keys that are there. Describes the set in `json` and `text`.
absl::Status WriteKeySet(const Common& common, const Instance& instance,
                         const ckks::SecretKey& secret, const KeyFolder& folder,
                         const std::string& passphrase, bool with_secret, Json* json,
                         std::string* text);

}  // namespace heft::cli

#endif  // HEFT_CLI_KEY_SET_H_
