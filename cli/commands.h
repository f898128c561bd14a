// SPDX-License-Identifier: Apache-2.0
// One function a subcommand, one file each.
#ifndef HEFT_CLI_COMMANDS_H_
#define HEFT_CLI_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "heft/files.h"
#include "heft/trust.h"
#include "program/flags.h"

namespace heft::cli {

// Server: nothing of these can decrypt; heft-server has only them.
void AddEnrol(Command app);
void AddPending(Command app);
void AddApply(Command app);
void AddPrepareKeys(Command app);
void AddIdentify(Command app);
void AddVerify(Command app);
void AddReveal(Command app);
void AddAudit(Command app);
// `describe`: DescribeFile, or of heft DescribeAnything, which knows data, too.
using Describe = absl::StatusOr<Described> (*)(const std::string& path, bool with_plan,
                                               const Trust* trust);
absl::StatusOr<Described> DescribeAnything(const std::string& path, bool with_plan,
                                           const Trust* trust);
void AddInspect(Command app, Describe describe);
// gallery: a group of commands (cli/gallery_commands.h).
void AddGallery(Command app);
void AddTrust(Command app);

// Registrar.
void AddAuthorise(Command app);

// Client.
void AddEncrypt(Command app);

// Key owner.
void AddKeygen(Command app);
void AddShare(Command app);
void AddAnswer(Command app);
void AddCanary(Command app);
void AddDecrypt(Command app);
void AddBudget(Command app);
void AddRekey(Command app);

// All roles, in the folders of a workspace.
void AddInit(Command app);
void AddAdd(Command app);
void AddSearch(Command app);
void AddWorkspaceVerify(Command app);
void AddRemove(Command app);
void AddExportRole(Command app);

// Without keys, or with all of them in one process.
void AddSynth(Command app);
void AddTrain(Command app);
void AddCalibrate(Command app);
void AddEvaluate(Command app);
void AddStudy(Command app);
void AddBench(Command app);

}  // namespace heft::cli

#endif  // HEFT_CLI_COMMANDS_H_
