// SPDX-License-Identifier: Apache-2.0
// One function a subcommand, one file each.
#ifndef HEFT_CLI_COMMANDS_H_
#define HEFT_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>

namespace heft::cli {

// Server: nothing of these can decrypt; heft-server has only them.
void AddEnrol(CLI::App& app);
void AddIdentify(CLI::App& app);
void AddVerify(CLI::App& app);
void AddInspect(CLI::App& app);
void AddImportSeal(CLI::App& app);
void AddExportSeal(CLI::App& app);
void AddRekeyGallery(CLI::App& app);

// Client.
void AddEncrypt(CLI::App& app);

// Key owner.
void AddKeygen(CLI::App& app);
void AddDecrypt(CLI::App& app);
// After AddImportSeal and AddExportSeal: the kinds of object that need the secret key.
void AddSealSecret(CLI::App& app);
void AddBudget(CLI::App& app);
void AddRekey(CLI::App& app);

// Without keys, or with all of them in one process.
void AddSynth(CLI::App& app);
void AddTrain(CLI::App& app);
void AddEvaluate(CLI::App& app);
void AddBench(CLI::App& app);
void AddReproduce(CLI::App& app);

}  // namespace heft::cli

#endif  // HEFT_CLI_COMMANDS_H_
