// SPDX-License-Identifier: Apache-2.0
// Options of the key owner's subcommands: an existing secret key, and the sealing of a new one.
#ifndef HEFT_PROGRAM_OWNER_KEY_OPTIONS_H_
#define HEFT_PROGRAM_OWNER_KEY_OPTIONS_H_

#include <string>
#include <vector>

#include "heft/key_owner.h"
#include "heft/key_set.h"
#include "program/common.h"

namespace heft::cli {

// KeyOptions: --model, --secret-key, --passphrase-file.
struct KeyOptions {
  std::string model, secret_key, passphrase_file;
};
void AddKeyOptions(Command command, KeyOptions* options, const std::string& secret_key_help);
// The key owner of `options` for `model`. Asks for the passphrase on the terminal if one is needed
// and no file is given.
absl::StatusOr<KeyOwner> LoadKeyOwner(const Model& model, const KeyOptions& options);
absl::StatusOr<KeyOwner> LoadKeyOwner(const KeyOptions& options);

// SealOptions: how the new secret key is sealed.
struct SealOptions {
  bool ask = false;       // for a passphrase, on the terminal
  std::string file;       // or take its first line
  bool unsealed = false;  // or none, and say nothing about it
};
// `prefix`: of the name of --passphrase-file, "new-" where that is of another key.
// `files`: for the passphrases of several keys, instead of SealOptions::file.
void AddSealOptions(Command command, const std::string& prefix, SealOptions* options,
                    std::vector<std::string>* files = nullptr);
// The passphrase's source; empty if the key is not to be sealed.
PassphraseSource NewPassphrase(const SealOptions& options);
// Warns on stderr of a key that was written unsealed, unless that was asked for.
void WarnOfUnsealed(const Common& common, const SealOptions& options);

// KeySetText: the content of KeySetJson, in words.
std::string KeySetText(const KeySet& set);

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_OWNER_KEY_OPTIONS_H_
