// SPDX-License-Identifier: Apache-2.0
// The files that a command writes to the user's paths.
#ifndef HEFT_PROGRAM_OUTPUTS_H_
#define HEFT_PROGRAM_OUTPUTS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "program/flags.h"

namespace heft::cli {

// CheckOutputsDiffer: WrongUsage where two outputs given to a command (--out, --report,
// --scores) are one file. For commands that were parsed.
absl::Status CheckOutputsDiffer(const Command& command);

// CheckFilePlace: checks that `path` can be a file for `what`, in an existing folder.
// CheckFolderPlace: checks that it is not a file. Both run before long work, and accept an empty
// path.
absl::Status CheckFilePlace(const std::string& path, std::string_view what);
absl::Status CheckFolderPlace(const std::string& path, std::string_view what);

// CheckNewFolderPlace: checks that it is a folder, or can be made in an existing one.
absl::Status CheckNewFolderPlace(const std::string& path, std::string_view what);

// WriteResult: WriteFile (heft/files.h), of all files that a subcommand writes.
absl::Status WriteResult(const std::string& path, std::span<const uint8_t> bytes);
absl::Status WriteResult(const std::string& path, std::string_view text);

// WritePictures: name and content, into a folder that is made if need be.
absl::Status WritePictures(const std::string& folder,
                           const std::vector<std::pair<std::string, std::string>>& files);

// WriteNewFiles: writes all of these files into a folder, or none, and replaces no file.
// kAlreadyExists; WriteFile's errors.
using NamedFiles = std::map<std::string, std::vector<uint8_t>>;
absl::Status WriteNewFiles(const std::string& folder, const NamedFiles& files);

// StdoutIsOutput: whether stdout took such an output, so that nothing else may go there.
bool StdoutIsOutput();

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_OUTPUTS_H_
