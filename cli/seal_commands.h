// SPDX-License-Identifier: Apache-2.0
// The commands of heft-seal: the groups import and export, with one subcommand for each kind of
// object.
#ifndef HEFT_CLI_SEAL_COMMANDS_H_
#define HEFT_CLI_SEAL_COMMANDS_H_

#include <string>

#include "heft/seal.h"
#include "program/common.h"

namespace heft::cli {

// Objects that need no secret key.
void AddImports(Command app);
void AddExports(Command app);
// Objects that need the secret key, in the same groups.
void AddSecrets(Command app);

// Finds or adds the group.
Command ImportGroup(Command app);
Command ExportGroup(Command app);

// --ring matching or enrolment, of a profile with two.
void AddRingOption(Command command, SealRing* ring);

// The key id that a HEFT file carries (keys, samples or scores); a fresh one where `path` is empty.
// SEAL's files do not name their key.
absl::StatusOr<KeyId> KeyIdOf(const std::string& path);
void AddKeyIdOption(Command command, std::string* path);

}  // namespace heft::cli

#endif  // HEFT_CLI_SEAL_COMMANDS_H_
