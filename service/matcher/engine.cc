// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/engine.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/files.h"
#include "heft/inspect.h"
#include "heft/server.h"

namespace heft::service {
namespace {

absl::StatusOr<Trust> LoadTrust(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::LoadGuarded(path));
  if (!trust.Lists(Role::kKeyOwner)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": lists no key owner, so all keys would be refused: run heft trust add"));
  }
  return trust;
}

// The encryption key that every client may fetch must belong to the same key set.
absl::StatusOr<std::vector<uint8_t>> EncryptionKeyFile(const std::string& path, const Trust& trust,
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
  HEFT_ASSIGN_OR_RETURN(const LoadedKeys evaluation,
                        LoadedKeys::Read(files.evaluation_keys, files.key_cache));
  LoadedKeys enrolment;
  if (!files.enrolment_keys.empty()) {
    HEFT_ASSIGN_OR_RETURN(enrolment, LoadedKeys::Read(files.enrolment_keys, files.key_cache));
  }
  HEFT_ASSIGN_OR_RETURN(const CheckedKeys keys,
                        CheckKeys(&trust, evaluation.view(), enrolment.view()));
  // Inspect the checked bytes; for mapped keys, inspect the file.
  std::vector<uint8_t> mapped;
  if (evaluation.bytes.empty()) {
    HEFT_ASSIGN_OR_RETURN(mapped, ReadFile(files.evaluation_keys, kMaxKeysSize));
  }
  HEFT_ASSIGN_OR_RETURN(const FileInfo info, InspectFile(mapped.empty() ? evaluation.bytes : mapped,
                                                         files.evaluation_keys));
  const KeyId key = info.key_id.value_or(KeyId{});
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> encryption_key,
                        EncryptionKeyFile(files.encryption_key, trust, key));
  HEFT_ASSIGN_OR_RETURN(TrustedServer server, TrustedServer::Create(model, std::move(trust), keys));
  HEFT_ASSIGN_OR_RETURN(const PlanInfo plan, DescribePlan(model));
  const bool enrols = plan.rings.size() == 1 || enrolment.found();
  return std::make_shared<const Engine>(
      Engine{std::move(server), std::move(model), std::move(model_file), std::move(encryption_key),
             key, info.params_id.value_or(ParamsId{}), enrols, UnixTime()});
}

}  // namespace heft::service
