// SPDX-License-Identifier: Apache-2.0
// heft-server gallery: one function a command, and what several of them share.
#ifndef HEFT_CLI_GALLERY_COMMANDS_H_
#define HEFT_CLI_GALLERY_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heft/gallery_admin.h"
#include "program/common.h"
#include "program/server_options.h"

namespace heft::cli {

void AddGalleryCreate(Command group);
void AddGalleryInfo(Command group);
void AddGalleryStats(Command group);
void AddGalleryList(Command group);
void AddGalleryRemove(Command group);
void AddGalleryRollback(Command group);
void AddGalleryRenew(Command group);
void AddGalleryFinish(Command group);
void AddGalleryReceipts(Command group);
void AddGalleryCompact(Command group);
void AddGalleryVerify(Command group);
void AddGallerySnapshot(Command group);
void AddGalleryRestore(Command group);
void AddGalleryExport(Command group);
void AddGalleryImport(Command group);

// LoadModelIfGiven: of an option that may be left out.
absl::StatusOr<std::optional<Model>> LoadModelIfGiven(const std::string& path);

// Remember: how far the gallery has come (heft/gallery_admin.h); a warning where that fails.
void Remember(const Common& common, const std::string& gallery);

// WriteReceipts: receipts into a folder, which is made if need be, one a file. The files.
using ReceiptFiles = std::vector<std::vector<uint8_t>>;
absl::StatusOr<std::vector<std::string>> WriteReceipts(const std::string& folder,
                                                       const ReceiptFiles& receipts);
// AddReceiptFolder: --receipts. GiveReceipts: what commands that erase say of them in the end:
// into the folder, if there is one, and to the result's text; a warning where there is nothing yet.
void AddReceiptFolder(Command command, std::string* folder);
absl::Status GiveReceipts(const Common& common, const std::string& folder,
                          const std::string& gallery, const ReceiptFiles& receipts,
                          const absl::Status& overwritten, Json* json, std::string* text);

}  // namespace heft::cli

#endif  // HEFT_CLI_GALLERY_COMMANDS_H_
