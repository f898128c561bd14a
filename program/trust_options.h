// SPDX-License-Identifier: Apache-2.0
// The trust of a tool: --trust, and the checks of files before their use.
#ifndef HEFT_PROGRAM_TRUST_OPTIONS_H_
#define HEFT_PROGRAM_TRUST_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heft/trust.h"
#include "program/common.h"

namespace heft::cli {

// TrustOptions: --trust and --unchecked.
struct TrustOptions {
  std::string file;
  bool unchecked = false;
};
// `beside`: the option with a file; trust.heft is searched in that file's folder.
void AddTrustOptions(Command command, TrustOptions* options, const std::string& beside);

// LoadTrust: the given file, or trust.heft in the folder of `path`; nullopt with --unchecked.
// kFailedPrecondition says what to do if there is none, or if every user can write it.
absl::StatusOr<std::optional<Trust>> LoadTrust(const TrustOptions& options,
                                               const std::string& path);

// LoadTrustFor: the same for the file `path` with these bytes. If that file is damaged or not
// HEFT's, this is reported first.
absl::StatusOr<std::optional<Trust>> LoadTrustFor(const TrustOptions& options,
                                                  const std::string& path,
                                                  std::span<const uint8_t> bytes);

// LoadTrustedModel: if the trust file lists trainers, one of them must have signed the model.
absl::StatusOr<Model> LoadTrustedModel(const std::string& path, const std::optional<Trust>& trust);

// KeyAndModel: a key file of a key owner's, and the model that it is used with.
struct KeyAndModel {
  std::vector<uint8_t> key;
  Model model;
};
// LoadKeyAndModel: a key and a model, checked with the trust file (LoadTrustFor the key file).
// `kind`: the kind of the key, four letters. OpenSigned's errors.
absl::StatusOr<KeyAndModel> LoadKeyAndModel(const TrustOptions& options, const std::string& key,
                                            const std::string& kind, const std::string& model);

// AddLife: --valid-for, in seconds; 0: for ever.
void AddLife(Command command, uint64_t* life);

// ReadSignerKey: a public key: NAME.pub, or 64 hexadecimal digits.
absl::StatusOr<SignerKey> ReadSignerKey(const std::string& given);

// StatementOf: a statement for a signature made now, in this role, only for `to` (empty: for every
// reader), valid for `life` seconds (0: for ever).
absl::StatusOr<Statement> StatementOf(const std::string& role, const std::string& to,
                                      uint64_t life);

// LoadSigner: a signing key; asks for its passphrase if it has one.
absl::StatusOr<SigningKey> LoadSigner(const std::string& path);

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_TRUST_OPTIONS_H_
