// SPDX-License-Identifier: Apache-2.0
#include "cli/seal_files.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "heft/inspect.h"

namespace heft::cli {

Command ImportSealGroup(Command app) {
  return app.Group("import-seal", "make HEFT files from objects of Microsoft SEAL 4.x");
}

Command ExportSealGroup(Command app) {
  return app.Group("export-seal", "make objects of Microsoft SEAL 4.x from HEFT files");
}

void AddCompressionOption(Command command, SealCompression* compression) {
  command
      .Add(
          "--compression",
          [compression](const std::string& name) {
            *compression = name == "none"   ? SealCompression::kNone
                           : name == "zlib" ? SealCompression::kZlib
                                            : SealCompression::kZstd;
          },
          "of SEAL's objects (default zstd)")
      .Choices({"none", "zlib", "zstd"});
}

void AddRingOption(Command command, SealRing* ring) {
  command
      .Add(
          "--ring",
          [ring](const std::string& name) {
            *ring = name == "enrolment" ? SealRing::kEnrolment : SealRing::kMatching;
          },
          "profile thin: matching, for probes of an identification and scores (default), or "
          "enrolment, for samples to enrol or verify; other profiles have one ring")
      .Choices({"matching", "enrolment"});
}

absl::StatusOr<KeyId> KeyIdOf(const std::string& path) {
  if (path.empty()) return NewKeyId();
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  HEFT_ASSIGN_OR_RETURN(const FileInfo file, InspectFile(bytes, path));
  if (file.key_id) return *file.key_id;
  return absl::DataLossError(
      absl::StrCat(path, ": carries no key id: give HEFT keys, samples or scores"));
}

void AddKeyIdOption(Command command, std::string* path) {
  command.Add("--key-id-of", path,
              "a HEFT file made for the same secret key, whose key id to use; without it a "
              "new one is drawn");
}

absl::Status WriteFiles(const std::string& folder,
                        const std::map<std::string, std::vector<uint8_t>>& files) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  std::error_code ignored;
  for (const auto& [name, bytes] : files) {
    if (std::filesystem::exists(folder + "/" + name, ignored)) {
      return absl::AlreadyExistsError(
          absl::StrCat(folder, "/", name, " exists: choose another folder"));
    }
  }
  absl::Status status;
  std::vector<std::string> written;
  for (const auto& [name, bytes] : files) {
    written.push_back(folder + "/" + name);
    status = WriteResult(written.back(), bytes);
    if (!status.ok()) break;
  }
  if (!status.ok()) {
    for (const std::string& path : written) unlink(path.c_str());
  }
  return status;
}

}  // namespace heft::cli
