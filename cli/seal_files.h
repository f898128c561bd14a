// SPDX-License-Identifier: Apache-2.0
// What import-seal and export-seal share. Each is a subcommand with one subcommand a kind of
// object, of which the key owner's program has more than the server's.
#ifndef HEFT_CLI_SEAL_FILES_H_
#define HEFT_CLI_SEAL_FILES_H_

#include <map>
#include <string>
#include <vector>

#include "heft/seal.h"
#include "program/common.h"

namespace heft::cli {

// Finds or adds the subcommand under which the kinds stand.
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

// WriteFiles: by their names into a folder, all or none of them.
using NamedFiles = std::map<std::string, std::vector<uint8_t>>;
absl::Status WriteFiles(const std::string& folder, const NamedFiles& files);

}  // namespace heft::cli

#endif  // HEFT_CLI_SEAL_FILES_H_
