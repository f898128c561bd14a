// SPDX-License-Identifier: Apache-2.0
// heft-server gallery: its commands, one function each, and their shared helpers.
#ifndef HEFT_CLI_GALLERY_COMMANDS_H_
#define HEFT_CLI_GALLERY_COMMANDS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "heft/gallery_admin.h"
#include "program/common.h"
#include "program/server_options.h"

namespace heft::cli {

// Creation and state.
void AddGalleryCreate(Command group);
void AddGalleryStats(Command group);
void AddGalleryList(Command group);
// Removal.
void AddGalleryRemove(Command group);
void AddGalleryRenew(Command group);
void AddGalleryCompact(Command group);
// Copies.
void AddGallerySnapshot(Command group);
void AddGalleryRestore(Command group);
void AddGalleryCopy(Command group);

// AddReading: a command that takes a gallery, and no keys. `more` follows in the example.
template <typename Options>
std::pair<Command, std::shared_ptr<Options>> AddReading(
    Command group, const std::string& name, const std::string& description, const std::string& more,
    absl::Status (*run)(const Common&, const Options&)) {
  const auto added =
      AddCommand(group, name, description,
                 absl::StrCat("heft-server gallery ", name, " --gallery gallery", more), run);
  added.first.Add("-g,--gallery", &added.second->gallery, kGalleryHelp).Required();
  return added;
}
// AddChange: one that changes a gallery, with a server's keys; its options are ServerOptions.
template <typename Options>
std::pair<Command, std::shared_ptr<Options>> AddChange(
    Command group, const std::string& name, const std::string& description, const std::string& more,
    absl::Status (*run)(const Common&, const Options&)) {
  const auto added =
      AddCommand(group, name, description,
                 absl::StrCat("heft-server gallery ", name,
                              " --model m.heft --keys evaluation.keys --gallery ", more),
                 run);
  AddGalleryOptions(added.first, added.second.get());
  AddWait(added.first, &added.second->wait);
  return added;
}

// InstallRenewal: the blocks that the key owner has renewed, with receipts into a folder, if one is
// given. `name`: of the answer's file.
absl::Status InstallRenewal(const Common& common, const TrustedServer& server,
                            const ServerOptions& where, const std::string& receipts,
                            std::span<const uint8_t> answer, const std::string& name);
// AddReceiptFolder: --receipts, of commands that erase.
void AddReceiptFolder(Command command, std::string* folder);
// WriteReceipts: a file each, into a folder, which is made if need be; returns the files.
absl::StatusOr<std::vector<std::string>> WriteReceipts(
    const std::string& folder, const std::vector<std::vector<uint8_t>>& receipts);

// LoadModelIfGiven: of an option that may be left out.
absl::StatusOr<std::optional<Model>> LoadModelIfGiven(const std::string& path);

// Remember: records the gallery's generation (heft/gallery_admin.h); warns if that fails.
void Remember(const Common& common, const std::string& gallery);

}  // namespace heft::cli

#endif  // HEFT_CLI_GALLERY_COMMANDS_H_
