// SPDX-License-Identifier: Apache-2.0
// The files that a command writes where its user said: never over what it has read, or written.
#ifndef HEFT_CLI_OUTPUTS_H_
#define HEFT_CLI_OUTPUTS_H_

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "cli/flags.h"

namespace heft::cli {

// WatchInputs: from here on, what is read is known. For once a process.
void WatchInputs();

// CheckOutputsDiffer: kInvalidArgument where two outputs given to a command (--out, --report,
// --curve, --checkpoint) are one file. For commands that were parsed.
absl::Status CheckOutputsDiffer(const Command& command);

// CheckOutput: kInvalidArgument where the path is a file that this command has read, or written.
absl::Status CheckOutput(const std::string& path);

// WriteResult writes a subcommand's output as WriteOutput does, unless the user has interrupted
// (kCancelled): code 130 then means that nothing was written. CheckOutput's errors.
absl::Status WriteResult(const std::string& path, ByteSpan bytes, mode_t mode = 0644);
absl::Status WriteResult(const std::string& path, std::string_view text);

// StdoutIsOutput: whether stdout took such an output, so that nothing else may go there.
bool StdoutIsOutput();

}  // namespace heft::cli

#endif  // HEFT_CLI_OUTPUTS_H_
