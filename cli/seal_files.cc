// SPDX-License-Identifier: Apache-2.0
#include "cli/seal_files.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/csprng.h"
#include "base/envelope.h"
#include "base/files.h"

namespace heft::cli {
Command ImportSealGroup(Command app) {
  return app.Group("import-seal", "make HEFT files from objects of Microsoft SEAL 4.x");
}

Command ExportSealGroup(Command app) {
  return app.Group("export-seal", "make objects of Microsoft SEAL 4.x from HEFT files");
}

void AddCompressionOption(Command command, seal::Compression* compression) {
  command
      .Add(
          "--compression",
          [compression](const std::string& name) {
            *compression = name == "none"   ? seal::Compression::kNone
                           : name == "zlib" ? seal::Compression::kZlib
                                            : seal::Compression::kZstd;
          },
          "of SEAL's objects (default zstd)")
      .Choices({"none", "zlib", "zstd"});
}

absl::StatusOr<ckks::KeyId> KeyIdOf(const std::string& path) {
  ckks::KeyId id{};
  if (path.empty()) {
    Csprng().Fill(id);
    return id;
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  const std::string kind = EnvelopeKind(bytes);
  if (kind.empty() || kind == "MODL") {
    return absl::DataLossError(
        absl::StrCat(path, ": carries no key id: give HEFT keys, samples or scores"));
  }
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kind, EnvelopeVersion(bytes), path));
  ByteReader reader(payload, path);
  reader.Raw(sizeof(ckks::ParamsId));
  const ByteSpan raw = reader.Raw(id.size());
  HEFT_RETURN_IF_ERROR(reader.status());
  std::copy(raw.begin(), raw.end(), id.begin());
  return id;
}

void AddKeyIdOption(Command command, std::string* path) {
  command.Add("--key-id-of", path,
              "a HEFT file made for the same secret key, whose key id to use; without it a "
              "new one is drawn");
}

std::vector<uint32_t> RotationSteps(const ckks::Params& params,
                                    const std::map<uint32_t, size_t>& elements) {
  std::vector<uint32_t> steps;
  for (uint32_t step = 1; step < params.slots(); ++step) {
    if (elements.count(ckks::RotationElement(params, step)) != 0) steps.push_back(step);
  }
  return steps;
}

absl::Status WriteFiles(const std::string& folder,
                        const std::map<std::string, std::vector<uint8_t>>& files) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  for (const auto& [name, bytes] : files) {
    if (FileExists(folder + "/" + name)) {
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
