// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/uploads.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/files.h"
#include "heft/inspect.h"

namespace heft::service {
namespace {

const char* KindOf(UploadKind kind) {
  switch (kind) {
    case UploadKind::kModel:
      return "MODL";
    case UploadKind::kEvaluationKeys:
      return "EVAL";
    case UploadKind::kEnrolmentKeys:
      return "ENRK";
    case UploadKind::kEncryptionKey:
      return "";  // two kinds, as it has one ring or two
  }
  return "";
}

absl::Status Refused(const std::string& path, const char* what) {
  return absl::UnavailableError(absl::StrCat(path, ": ", what, ": ", std::strerror(errno)));
}

}  // namespace

std::string_view UploadName(UploadKind kind) {
  static constexpr std::string_view kNames[] = {"model", "evaluation", "enrolment", "encryption"};
  return kNames[static_cast<size_t>(kind)];
}

const std::string& Uploads::Path(const EngineFiles& files, UploadKind kind) const {
  switch (kind) {
    case UploadKind::kModel:
      return files.model;
    case UploadKind::kEvaluationKeys:
      return files.evaluation_keys;
    case UploadKind::kEnrolmentKeys:
      return files.enrolment_keys;
    case UploadKind::kEncryptionKey:
      break;
  }
  return files.encryption_key;
}

std::string Uploads::StagedPath(UploadKind kind) const {
  return absl::StrCat(staging_, "/", std::string(UploadName(kind)));
}

absl::Status Uploads::CheckAlone(UploadKind kind, std::span<const uint8_t> bytes) const {
  const std::string what = absl::StrCat("the ", std::string(UploadName(kind)), " that came");
  if (Path(files_, kind).empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": this service is configured without such a file ([keys])"));
  }
  HEFT_ASSIGN_OR_RETURN(const Trust trust, Trust::Load(files_.trust));
  const bool is_model = kind == UploadKind::kModel;
  if (!is_model || trust.Lists(Role::kTrainer)) {
    Expected expected;
    expected.roles = {is_model ? Role::kTrainer : Role::kKeyOwner};
    expected.kind = KindOf(kind);
    HEFT_RETURN_IF_ERROR(OpenSigned(bytes, trust, expected, what).status());
  }
  if (is_model) return Model::Parse(bytes, what).status();
  return InspectFile(bytes, what).status();
}

absl::StatusOr<std::shared_ptr<const Engine>> Uploads::Put(UploadKind kind,
                                                           std::span<const uint8_t> bytes,
                                                           std::string* why, const Use& use) {
  const std::lock_guard lock(mutex_);
  HEFT_RETURN_IF_ERROR(CheckAlone(kind, bytes));
  HEFT_RETURN_IF_ERROR(MakeDirectories(staging_));
  if (chmod(staging_.c_str(), 0700) != 0) return Refused(staging_, "its mode cannot be set");
  HEFT_RETURN_IF_ERROR(WriteFile(StagedPath(kind), bytes));
  auto engine = Together();
  if (engine.ok()) use(*engine);
  if (engine.ok() || absl::IsUnavailable(engine.status())) return engine;
  *why = std::string(engine.status().message());
  return std::shared_ptr<const Engine>();
}

absl::StatusOr<std::shared_ptr<const Engine>> Uploads::Together() {
  EngineFiles together = files_;
  std::string* const places[] = {&together.model, &together.evaluation_keys,
                                 &together.enrolment_keys, &together.encryption_key};
  std::vector<UploadKind> staged;
  for (const UploadKind each : kUploadKinds) {
    if (access(StagedPath(each).c_str(), F_OK) != 0) continue;
    staged.push_back(each);
    *places[static_cast<size_t>(each)] = StagedPath(each);
  }
  HEFT_ASSIGN_OR_RETURN(auto engine, LoadEngine(together));
  for (const UploadKind each : staged) {
    const std::string& path = Path(files_, each);
    if (std::rename(StagedPath(each).c_str(), path.c_str()) != 0) {
      return Refused(path, "the upload cannot replace the old file");
    }
  }
  return engine;
}

absl::StatusOr<std::shared_ptr<const Engine>> Uploads::Load() {
  const std::lock_guard lock(mutex_);
  auto engine = LoadEngine(files_);
  if (engine.ok()) return engine;
  auto together = Together();
  if (together.ok()) return together;
  return engine;
}

absl::StatusOr<std::function<void()>> Uploads::PrepareReload(const EngineFiles& files,
                                                             const Use& use) {
  const auto lock = std::make_shared<std::unique_lock<std::mutex>>(mutex_);
  HEFT_ASSIGN_OR_RETURN(const auto engine, LoadEngine(files));
  return [this, lock, engine, files, use] {
    files_ = files;
    use(engine);
    lock->unlock();
  };
}

std::vector<UploadKind> Uploads::Staged() const {
  const std::lock_guard lock(mutex_);
  std::vector<UploadKind> out;
  for (const UploadKind kind : kUploadKinds) {
    if (access(StagedPath(kind).c_str(), F_OK) == 0) out.push_back(kind);
  }
  return out;
}

absl::Status Uploads::Drop() {
  const std::lock_guard lock(mutex_);
  for (const UploadKind kind : kUploadKinds) {
    const std::string path = StagedPath(kind);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return Refused(path, "it cannot be removed");
  }
  return absl::OkStatus();
}

}  // namespace heft::service
