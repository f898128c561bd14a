// SPDX-License-Identifier: Apache-2.0
// Audits of files.
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/audit.h"
#include "heft/files.h"
#include "heft/gallery_admin.h"

namespace heft {
namespace {

constexpr uint64_t kMaxSeed = 1 << 12;

// The files of one request: those of a folder, or a single one.
absl::StatusOr<std::vector<SampleFile>> SamplesAt(const std::string& path) {
  std::vector<std::string> paths;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      paths.push_back(entry.path().string());
    }
    if (paths.empty()) {
      return absl::NotFoundError(absl::StrCat(path, ": contains no files of a request"));
    }
  } else {
    paths.push_back(path);
  }
  std::vector<SampleFile> files;
  for (const std::string& file : paths) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(file, kMaxSamplesSize));
    files.push_back({std::move(bytes), file});
  }
  return files;
}

// Whether the key owner has signed the copy's state.
absl::StatusOr<AuditFinding> AuditState(const TrustedServer& server, const Gallery& copy,
                                        const AuditFiles& files) {
  const std::string path = files.state.empty() ? StateFile(files.copy) : files.state;
  const auto state = ReadFile(path, kMaxReplySize);
  if (absl::IsNotFound(state.status())) {
    return AuditFinding{false, "the key owner has not signed a state of this copy"};
  }
  HEFT_RETURN_IF_ERROR(state.status());
  return AuditGallery(server.server, copy, *state, *server.trust, path);
}

}  // namespace

absl::StatusOr<std::vector<NamedFinding>> AuditAll(const TrustedServer& server,
                                                   const AuditFiles& files) {
  if (files.seeds.size() != files.replies.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.replies.size(), " replies and ", files.seeds.size(),
                     " seeds: give one seed for each reply, in the same order"));
  }
  if (!server.trust) {
    return absl::InvalidArgumentError(
        "an audit needs the trusted server: give a trust file that lists it");
  }
  HEFT_ASSIGN_OR_RETURN(const Gallery copy, Gallery::Open(files.copy));
  std::vector<NamedFinding> findings;
  if (files.with_state) {
    HEFT_ASSIGN_OR_RETURN(AuditFinding finding, AuditState(server, copy, files));
    findings.push_back({files.copy, std::move(finding)});
  }
  Audited audited;
  for (const std::string& path : files.requests) {
    HEFT_ASSIGN_OR_RETURN(std::vector<SampleFile> request, SamplesAt(path));
    audited.requests.push_back(std::move(request));
  }
  for (const size_t i : ChooseForAudit(files.replies.size(), files.one_in)) {
    HEFT_ASSIGN_OR_RETURN(audited.reply, ReadFile(files.replies[i], kMaxReplySize));
    HEFT_ASSIGN_OR_RETURN(audited.seed, ReadFile(files.seeds[i], kMaxSeed));
    absl::StatusOr<AuditFinding> finding = AuditReply(server.server, copy, *server.trust, audited);
    if (!finding.ok()) {
      return absl::Status(finding.status().code(),
                          absl::StrCat(files.replies[i], ": ", finding.status().message()));
    }
    findings.push_back({files.replies[i], *std::move(finding)});
  }
  return findings;
}

Described DescribeFindings(std::span<const NamedFinding> findings) {
  Described out{{{"findings", Json::array()}, {"wrong", 0}}};
  size_t wrong = 0;
  for (const auto& [what, finding] : findings) {
    wrong += finding.right ? 0 : 1;
    Json json = {{"file", what}, {"right", finding.right}};
    if (!finding.right) json["reason"] = finding.reason;
    out.json["findings"].push_back(std::move(json));
    absl::StrAppend(&out.text, finding.right ? "right  " : "WRONG  ", what,
                    finding.right ? "" : ": ", finding.reason, "\n");
  }
  out.json["wrong"] = wrong;
  return out;
}

}  // namespace heft
