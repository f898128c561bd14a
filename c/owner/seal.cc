// SPDX-License-Identifier: Apache-2.0
// The exchange with SEAL: the functions that need the secret key.
#include <memory>
#include <utility>

#include "c/owner/handles.h"
#include "c/passphrase.h"
#include "c/seal_options.h"
#include "heft/seal_key_owner.h"

using heft::Json;
using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;
using heft::c::SealOptions;

heft_status heft_seal_import_secret_key(const heft_model* model, const char* key_id,
                                        const char* source, const char* out, const char* enrolment,
                                        heft_bytes passphrase, heft_monitor monitor, void* user,
                                        heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", key_id, "key_id", source, "source", out, "out"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    HEFT_ASSIGN_OR_RETURN(const heft::KeyId id, heft::c::ParseKeyId(key_id));
    return heft::ImportSealSecretKey(model->model, id, source, out, asked, AsMonitor(monitor, user),
                                     enrolment == nullptr ? "" : enrolment);
  });
}

heft_status heft_seal_export_secret_key(const heft_key_owner* owner, const char* out,
                                        const heft_options* options, heft_monitor monitor,
                                        void* user, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", out, "out"));
    SealOptions how;
    HEFT_RETURN_IF_ERROR(how.Read(options, /*with_compression=*/false, /*with_ring=*/true));
    return heft::ExportSealSecretKey(owner->owner, out, AsMonitor(monitor, user), how.ring);
  });
}

heft_status heft_seal_export_evaluation_keys(const heft_key_owner* owner,
                                             const heft_options* options, heft_monitor monitor,
                                             void* user, heft_buffer** relinearisation,
                                             heft_buffer** galois, heft_result** result,
                                             heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", relinearisation, "relinearisation", galois, "galois",
                               result, "result"));
    SealOptions how;
    HEFT_RETURN_IF_ERROR(how.Read(options, /*with_compression=*/true, /*with_ring=*/false));
    HEFT_ASSIGN_OR_RETURN(auto keys, heft::ExportSealEvaluationKeys(owner->owner, how.compression,
                                                                    AsMonitor(monitor, user)));
    auto first = std::make_unique<heft_buffer>(std::move(keys.relinearisation));
    auto second = std::make_unique<heft_buffer>(std::move(keys.galois));
    *result = new heft_result(Json({{"galois_keys", keys.galois_keys}}));
    *relinearisation = first.release();
    *galois = second.release();
    return absl::OkStatus();
  });
}
