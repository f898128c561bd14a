// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/engine.h"

#include <sys/stat.h>

#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/expanded_keys.h"
#include "heft/files.h"
#include "heft/inspect.h"

namespace heft::service {
namespace {

absl::StatusOr<Trust> LoadTrust(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::Load(path));
  struct stat file {};
  if (stat(path.c_str(), &file) == 0 && (file.st_mode & S_IWOTH) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": anybody may change whom it believes: chmod o-w ", path));
  }
  if (!trust.Lists(Role::kKeyOwner)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": lists no key owner, so that no keys could be believed: heft trust add"));
  }
  return trust;
}

// Keys: a file of them, mapped where it was expanded before (heft-server prepare-keys).
struct Keys {
  std::string path;
  std::vector<uint8_t> bytes;
  std::optional<ExpandedKeys> expanded;

  KeyFile view() const {
    if (bytes.empty()) return {};
    return {bytes, path, expanded ? &*expanded : nullptr};
  }
};

absl::StatusOr<std::unique_ptr<Keys>> ReadKeys(const std::string& path, const EngineFiles& files) {
  auto keys = std::make_unique<Keys>();
  if (path.empty()) return keys;
  keys->path = path;
  HEFT_ASSIGN_OR_RETURN(keys->bytes, ReadFile(path, kMaxKeysSize));
  if (keys->bytes.empty()) return absl::DataLossError(absl::StrCat(path, ": the file is empty"));
  const std::string name = path.substr(path.find_last_of('/') + 1);
  auto expanded = ExpandedKeys::Open(
      absl::StrCat(files.key_cache.empty() ? path : files.key_cache + "/" + name, ".expanded"),
      path);
  // One that is of no use is not an error: the keys themselves are read.
  if (expanded.ok()) keys->expanded = *std::move(expanded);
  return keys;
}

// What everybody may fetch must be what they need.
absl::StatusOr<std::vector<uint8_t>> ReadEncryptionKey(const std::string& path, const Trust& trust,
                                                       const KeyId& key) {
  if (path.empty()) return std::vector<uint8_t>();
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path, kMaxKeysSize));
  HEFT_RETURN_IF_ERROR(
      OpenSigned(bytes, trust, {.roles = {Role::kKeyOwner}, .kind = ""}, path).status());
  HEFT_ASSIGN_OR_RETURN(const FileInfo info, InspectFile(bytes, path));
  if (info.key_id != key) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": of another key than the evaluation keys: take both from one key set"));
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Engine>> LoadEngine(const EngineFiles& files) {
  HEFT_ASSIGN_OR_RETURN(Trust trust, LoadTrust(files.trust));
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> model_file, ReadFile(files.model, kMaxModelSize));
  HEFT_ASSIGN_OR_RETURN(Model model, ReadTrustedModel(&trust, model_file, files.model));
  HEFT_ASSIGN_OR_RETURN(const auto evaluation, ReadKeys(files.evaluation_keys, files));
  HEFT_ASSIGN_OR_RETURN(const auto enrolment, ReadKeys(files.enrolment_keys, files));
  HEFT_ASSIGN_OR_RETURN(const CheckedKeys keys,
                        CheckKeys(&trust, evaluation->view(), enrolment->view()));
  HEFT_ASSIGN_OR_RETURN(const FileInfo info, InspectFile(evaluation->bytes, files.evaluation_keys));
  const KeyId key = info.key_id.value_or(KeyId{});
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> encryption_key,
                        ReadEncryptionKey(files.encryption_key, trust, key));
  HEFT_ASSIGN_OR_RETURN(TrustedServer server, TrustedServer::Create(model, std::move(trust), keys));
  HEFT_ASSIGN_OR_RETURN(const PlanInfo plan, DescribePlan(model));
  const bool enrols = plan.rings.size() == 1 || !enrolment->bytes.empty();
  return std::make_shared<const Engine>(
      Engine{std::move(server), std::move(model), std::move(model_file), std::move(encryption_key),
             key, info.params_id.value_or(ParamsId{}), enrols, UnixTime()});
}

}  // namespace heft::service
