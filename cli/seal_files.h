// SPDX-License-Identifier: Apache-2.0
// Shared by import-seal and export-seal. Each is a subcommand with one subcommand for each kind of
// object; the key owner's program has more kinds than the server's.
#ifndef HEFT_CLI_SEAL_FILES_H_
#define HEFT_CLI_SEAL_FILES_H_

#include <string>

#include "heft/seal.h"
#include "program/common.h"

namespace heft::cli {

// Finds or adds the subcommand for all kinds of objects.
Command ImportSealGroup(Command app);
Command ExportSealGroup(Command app);

// --compression none, zlib or zstd.
void AddCompressionOption(Command command, SealCompression* compression);

// --ring matching or enrolment, of a profile with two.
void AddRingOption(Command command, SealRing* ring);

// The key id that a HEFT file carries (keys, samples or scores); a fresh one where `path` is empty.
// SEAL's files do not name their key.
absl::StatusOr<KeyId> KeyIdOf(const std::string& path);
void AddKeyIdOption(Command command, std::string* path);

}  // namespace heft::cli

#endif  // HEFT_CLI_SEAL_FILES_H_
