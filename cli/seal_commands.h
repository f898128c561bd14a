// SPDX-License-Identifier: Apache-2.0
// The commands of heft-seal: import and export, each with the kind of object as its first argument.
#ifndef HEFT_CLI_SEAL_COMMANDS_H_
#define HEFT_CLI_SEAL_COMMANDS_H_

#include <string>
#include <vector>

#include "heft/seal.h"
#include "program/common.h"
#include "program/owner/key_options.h"

namespace heft::cli {

struct SealFiles {
  std::string kind;
  KeyOptions key;
  SealOptions sealing;  // of a secret key of HEFT's
  std::string enrolment_in, relin, galois, modality, key_id_of, out;
  std::vector<std::string> inputs, labels;
  SealRing ring = SealRing::kMatching;

  // The one file of --in; an error if there are more.
  absl::StatusOr<std::string> In() const;
};

void AddImport(Command app);
void AddExport(Command app);

// Objects that need the secret key.
absl::Status ImportSecretKey(const Common& common, const SealFiles& files);
absl::Status ExportSecretKey(const Common& common, const SealFiles& files);
absl::Status ExportEvaluationKeys(const Common& common, const SealFiles& files);

// The key id that a HEFT file carries (keys, samples or scores); a fresh one where `path` is empty.
// SEAL's files do not name their key.
absl::StatusOr<KeyId> KeyIdOf(const std::string& path);

}  // namespace heft::cli

#endif  // HEFT_CLI_SEAL_COMMANDS_H_
