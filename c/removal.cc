// SPDX-License-Identifier: Apache-2.0
// Removal from galleries, and renewal of their blocks.
#include "c/gallery_options.h"
#include "c/handles.h"
#include "c/options.h"
#include "c/result.h"
#include "c/samples.h"
#include "heft/gallery_admin.h"
#include "heft/results.h"

using heft::Json;
using heft::c::Allowed;
using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::DeskOf;
using heft::c::Given;
using heft::c::Span;

heft_status heft_gallery_remove(const heft_matcher* matcher, const char* name,
                                const char* const* identities, size_t count,
                                const heft_options* options, const heft_trust* trust,
                                heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(matcher, "matcher", name, "name", identities, "identities", result, "result"));
    HEFT_RETURN_IF_ERROR(Allowed(trust, "trust"));
    std::vector<uint8_t> authorisation;
    heft::c::OptionReader read(options);
    read.Bytes("authorisation", &authorisation);
    HEFT_RETURN_IF_ERROR(read.Finish());
    HEFT_ASSIGN_OR_RETURN(const auto who, heft::c::Strings(identities, count, "identities"));
    HEFT_ASSIGN_OR_RETURN(const auto done, DeskOf(matcher, trust).Remove(name, who, authorisation));
    *result = new heft_result(heft::c::WithReasons(done));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_remove_expired(const heft_matcher* matcher, const char* name,
                                        heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto done, heft::RemoveExpired(matcher->server, name));
    *result = new heft_result(heft::c::WithReasons(done));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_roll_back(const heft_matcher* matcher, const char* name,
                                   uint64_t generation, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto done, heft::RollBack(matcher->server, name, generation));
    *result = new heft_result(heft::c::WithReasons(done));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_compact(const heft_matcher* matcher, const char* name,
                                 heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto done, heft::CompactGallery(matcher->server, name));
    *result = new heft_result(heft::c::WithReasons(done));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_reject_pending(const heft_matcher* matcher, const char* name,
                                        const char* const* entries, size_t count,
                                        heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(matcher, "matcher", name, "name", entries, "entries", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto texts, heft::c::Strings(entries, count, "entries"));
    std::vector<heft::Digest> which;
    for (const std::string& text : texts) {
      const auto digest = heft::ParseSignerKey(text);  // of the same form
      if (!digest.ok()) {
        return absl::InvalidArgumentError(
            "an entry is 64 hexadecimal digits: use PendingEnrolment.entry");
      }
      which.push_back(*digest);
    }
    HEFT_ASSIGN_OR_RETURN(const auto done, heft::RejectPending(matcher->server, name, which));
    *result = new heft_result(heft::c::WithReasons(done));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_ask_renewal(const heft_matcher* matcher, const char* name,
                                     const heft_options* options, heft_monitor monitor, void* user,
                                     heft_buffer** request, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", name, "name", request, "request"));
    heft::RenewalOptions renewal;
    heft::Signing how;
    heft::c::OptionReader read(options);
    read.Flag("compact", &renewal.compact).Flag("sign", &how.sign);
    HEFT_RETURN_IF_ERROR(read.Finish());
    HEFT_ASSIGN_OR_RETURN(
        auto bytes,
        DeskOf(matcher, nullptr).AskRenewal(name, renewal, how, AsMonitor(monitor, user)));
    *request = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_renew(const heft_matcher* matcher, const char* name, heft_bytes answer,
                               const heft_trust* trust, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", name, "name", answer, "answer", trust, "trust",
                               result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto done,
                          DeskOf(matcher, trust).Renew(name, Span(answer), "renewal"));
    *result = new heft_result(heft::c::WithReasons(done));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_erasure_remains(const char* name, heft_result** result,
                                         heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const std::string remains, heft::ErasureRemains(name));
    *result = new heft_result(Json(remains));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_erase_remains(const char* name, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto receipts, heft::EraseRemains(name));
    *result = new heft_result(heft::c::FileList(receipts));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_receipts(const char* name, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto receipts, heft::Receipts(name));
    *result = new heft_result(heft::c::FileList(receipts));
    return absl::OkStatus();
  });
}

heft_status heft_receipt_read(heft_bytes receipt, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(receipt, "receipt", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto read, heft::ReadReceipt(Span(receipt), "receipt"));
    *result = new heft_result(heft::c::RecordJson(read));
    return absl::OkStatus();
  });
}
