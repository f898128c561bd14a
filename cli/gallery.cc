// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/gallery_commands.h"
#include "heft/removal.h"

namespace heft::cli {

absl::StatusOr<std::optional<Model>> LoadModelIfGiven(const std::string& path) {
  std::optional<Model> model;
  if (path.empty()) return model;
  HEFT_ASSIGN_OR_RETURN(model, LoadModel(path));
  return model;
}

void Remember(const Common& common, const std::string& gallery) {
  const absl::Status done = RememberGeneration(gallery);
  if (done.ok()) return;
  Warn(common, absl::StrCat("how far the gallery has come is not remembered, so that an older copy "
                            "might pass for the newest: ",
                            done.message()));
}

absl::StatusOr<std::vector<std::string>> WriteReceipts(const std::string& folder,
                                                       const ReceiptFiles& receipts) {
  std::vector<std::string> files;
  if (!receipts.empty()) HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  for (const std::vector<uint8_t>& receipt : receipts) {
    HEFT_ASSIGN_OR_RETURN(const ErasureReceipt says, ReadReceipt(receipt, "the gallery's receipt"));
    files.push_back(absl::StrCat(folder, "/", HexString(says.gallery).substr(0, 8), "-",
                                 says.generation, ".receipt"));
    HEFT_RETURN_IF_ERROR(WriteResult(files.back(), receipt));
  }
  return files;
}

void AddReceiptFolder(Command command, std::string* folder) {
  command.Add("--receipts", folder,
              "folder for the signed receipts of what is erased, a file each; the gallery keeps "
              "them too");
}

absl::Status GiveReceipts(const Common& common, const std::string& folder,
                          const std::string& gallery, const ReceiptFiles& receipts,
                          const absl::Status& overwritten, Json* json, std::string* text) {
  const std::string remains = ErasureRemains(gallery).value_or("");
  (*json)["overwritten"] = overwritten.ok() && remains.empty();
  if (overwritten.ok() && !remains.empty()) {
    (*json)["remains"] = remains;
    absl::StrAppend(text, "\nwhat is left of them: ", remains);
  }
  (*json)["receipts"] = receipts.size();
  if (!overwritten.ok()) {
    Warn(common,
         absl::StrCat("what was erased could not be overwritten yet, so there is no receipt "
                      "(`heft-server gallery compact` tries again): ",
                      overwritten.message()));
  }
  if (folder.empty()) return absl::OkStatus();
  const auto files = WriteReceipts(folder, receipts);
  if (!files.ok()) {
    return absl::Status(files.status().code(),
                        absl::StrCat(files.status().message(),
                                     "; all else is done, and the gallery keeps its receipts: "
                                     "`heft-server gallery receipts`"));
  }
  (*json)["files"] = *files;
  for (const std::string& file : *files) absl::StrAppend(text, "\nreceipt: ", file);
  return absl::OkStatus();
}

void AddGallery(Command app) {
  const Command group =
      app.Group("gallery", "galleries: contents, removal, checks, copies (server)");
  AddGalleryCreate(group);
  AddGalleryInfo(group);
  AddGalleryStats(group);
  AddGalleryList(group);
  AddEnrol(group, "add");
  AddEnrol(group, "replace");
  AddGalleryRemove(group);
  AddGalleryRollback(group);
  AddGalleryRenew(group);
  AddGalleryFinish(group);
  AddGalleryReceipts(group);
  AddGalleryCompact(group);
  AddGalleryVerify(group);
  AddGallerySnapshot(group);
  AddGalleryRestore(group);
  AddGalleryExport(group);
  AddGalleryImport(group);
  AddRekeyGallery(group, "rekey");
}

}  // namespace heft::cli
