// SPDX-License-Identifier: Apache-2.0
#include "gallery/kept_receipts.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/files.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

std::string ReceiptFolder(const Gallery::Impl& gallery) {
  return absl::StrCat(gallery.directory(), "/receipts/", HexString(gallery.id()));
}

absl::Status Keep(const std::string& folder, const ReceiptRecord& record) {
  return WriteFileAtomic(absl::StrCat(folder, "/", record.generation, ".receipt"), record.receipt,
                         0600);
}

}  // namespace

bool HasKeptReceipts(const Gallery::Impl& gallery) { return FileExists(ReceiptFolder(gallery)); }

absl::Status KeepReceipts(const Gallery::Impl& gallery, std::span<const ReceiptRecord> receipts) {
  if (gallery.address().store.empty() || receipts.empty()) return absl::OkStatus();
  const std::string folder = ReceiptFolder(gallery);
  if (!FileExists(folder)) {
    // The folder gets its name when it is complete, so that a part is not taken for the whole.
    const std::string partial = folder + ".partial";
    HEFT_RETURN_IF_ERROR(MakeDirectories(partial));
    absl::Status status;
    HEFT_RETURN_IF_ERROR(gallery.reader().Scan(
        Table::kReceipts, NumberKey(gallery.number(), 0), [&](ByteSpan key, ByteSpan value) {
          if (!OfGallery(gallery.number(), key)) return false;
          const auto record = ParseReceipt(value, "the gallery's receipts");
          status = record.status();
          if (status.ok() && record->erased != 0) status = Keep(partial, *record);
          return status.ok();
        }));
    HEFT_RETURN_IF_ERROR(status);
    std::error_code error;
    fs::rename(partial, folder, error);
    if (error && !FileExists(folder)) {
      return absl::UnavailableError(absl::StrCat("cannot make ", folder, ": ", error.message()));
    }
    HEFT_RETURN_IF_ERROR(SyncDirectory(gallery.directory() + "/receipts"));
  }
  for (const ReceiptRecord& record : receipts) HEFT_RETURN_IF_ERROR(Keep(folder, record));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<uint8_t>>> KeptReceipts(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  if (!FileExists(folder + "/receipts")) return std::vector<std::vector<uint8_t>>();
  for (fs::recursive_directory_iterator it(folder + "/receipts", error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".receipt") paths.push_back(it->path().string());
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot read ", folder, "/receipts: ", error.message()));
  }
  std::ranges::sort(paths);
  std::vector<std::vector<uint8_t>> receipts;
  for (const std::string& path : paths) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path));
    receipts.push_back(std::move(bytes));
  }
  return receipts;
}

}  // namespace heft
