// SPDX-License-Identifier: Apache-2.0
// The key owner's keys: made, loaded, handed out; and samples encrypted with the secret one.
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "c/owner/handles.h"
#include "c/passphrase.h"
#include "c/result.h"
#include "c/samples.h"
#include "heft/key_set.h"

namespace heft::c {
namespace {

absl::StatusOr<Json> Describe(const KeyOwner& owner) {
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, owner.Signer());
  const std::optional<SharedKey> shared = owner.shared();
  return Json({{"key_id", Hex(owner.key_id())},
               {"signer", Hex(signer.public_key())},
               {"journal", owner.journal_file()},
               {"shared", shared ? RecordJson(*shared) : Json()}});
}

// KeyFile: the secret key of a folder that MakeKeySet wrote, or the file itself.
std::string KeyFile(const std::string& path) {
  std::error_code unknown;  // loading the file reports the error
  return std::filesystem::is_directory(path, unknown) ? path + "/secret.key" : path;
}

// Gives bytes, or a key set's description, to the caller of a C function.
absl::Status Hand(absl::StatusOr<std::vector<uint8_t>> bytes, heft_buffer** buffer) {
  if (!bytes.ok()) return bytes.status();
  *buffer = new heft_buffer(*std::move(bytes));
  return absl::OkStatus();
}
absl::Status Hand(const absl::StatusOr<KeySet>& set, heft_result** result) {
  if (!set.ok()) return set.status();
  *result = new heft_result(RecordJson(*set));
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft::c

using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;
using heft::c::Hand;

heft_status heft_key_set_make(const heft_model* model, const char* folder, heft_bytes passphrase,
                              heft_monitor monitor, void* user, heft_result** result,
                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", folder, "folder", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    return Hand(heft::MakeKeySet(model->model, folder, asked, AsMonitor(monitor, user)), result);
  });
}

heft_status heft_key_set_make_public(const heft_key_owner* owner, const char* folder,
                                     heft_monitor monitor, void* user, heft_result** result,
                                     heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", folder, "folder", result, "result"));
    return Hand(heft::MakePublicKeys(owner->owner, folder, AsMonitor(monitor, user)), result);
  });
}

heft_status heft_key_set_renew(const heft_key_owner* old, const char* folder, heft_bytes passphrase,
                               heft_monitor monitor, void* user, heft_result** result,
                               heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(old, "old", folder, "folder", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    return Hand(heft::RenewKey(old->owner, folder, asked, AsMonitor(monitor, user)), result);
  });
}

heft_status heft_key_owner_generate(const heft_model* model, heft_key_owner** owner,
                                    heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", owner, "owner"));
    HEFT_ASSIGN_OR_RETURN(auto made, heft::KeyOwner::Generate(model->model));
    *owner = new heft_key_owner(std::move(made), model->model.modalities);
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_load(const heft_model* model, const char* secret_key,
                                heft_bytes passphrase, heft_key_owner** owner, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", secret_key, "secret_key", owner, "owner"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    HEFT_ASSIGN_OR_RETURN(auto loaded,
                          heft::KeyOwner::Load(model->model, heft::c::KeyFile(secret_key), asked));
    *owner = new heft_key_owner(std::move(loaded), model->model.modalities);
    return absl::OkStatus();
  });
}

void heft_key_owner_free(heft_key_owner* owner) { heft::c::Free(owner); }

heft_status heft_key_owner_describe(const heft_key_owner* owner, heft_result** result,
                                    heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", result, "result"));
    HEFT_ASSIGN_OR_RETURN(heft::Json json, heft::c::Describe(owner->owner));
    *result = new heft_result(std::move(json));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_encryption_key(const heft_key_owner* owner, heft_buffer** key,
                                          heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", key, "key"));
    return Hand(owner->owner.EncryptionKey(), key);
  });
}

heft_status heft_key_owner_evaluation_keys(const heft_key_owner* owner, heft_monitor monitor,
                                           void* user, heft_buffer** keys, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", keys, "keys"));
    return Hand(owner->owner.EvaluationKeys(AsMonitor(monitor, user)), keys);
  });
}

heft_status heft_key_owner_enrolment_keys(const heft_key_owner* owner, heft_monitor monitor,
                                          void* user, heft_buffer** keys, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", keys, "keys"));
    return Hand(owner->owner.EnrolmentKeys(AsMonitor(monitor, user)), keys);
  });
}

heft_status heft_key_owner_encrypt(const heft_key_owner* owner, const heft_rows* rows,
                                   const char* const* labels, const heft_options* options,
                                   heft_buffer** file, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", rows, "rows", file, "file"));
    heft::c::SampleRows samples;
    HEFT_RETURN_IF_ERROR(
        samples.Read(owner->modalities, rows, 1, labels, options, /*fused=*/false));
    return Hand(owner->owner.Encrypt(samples.views()[0]), file);
  });
}

heft_status heft_key_owner_encrypt_fused(const heft_key_owner* owner, const heft_rows* modalities,
                                         size_t count, const char* const* labels,
                                         const heft_options* options, heft_buffer** file,
                                         heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", modalities, "modalities", file, "file"));
    heft::c::SampleRows samples;
    HEFT_RETURN_IF_ERROR(
        samples.Read(owner->modalities, modalities, count, labels, options, /*fused=*/true));
    return Hand(owner->owner.EncryptFused(samples.views()), file);
  });
}
