// SPDX-License-Identifier: Apache-2.0
#include "heft/audit.h"

#include "c/handles.h"
#include "c/options.h"
#include "c/result.h"
#include "c/samples.h"
#include "heft/c/matcher.h"
#include "heft/gallery_admin.h"

namespace heft::c {
namespace {

absl::StatusOr<Audited> ReadAudited(heft_bytes reply, heft_bytes seed,
                                    const heft_files* const* requests, size_t count) {
  Audited audited;
  audited.reply.assign(Span(reply).begin(), Span(reply).end());
  audited.seed.assign(Span(seed).begin(), Span(seed).end());
  for (size_t i = 0; i < count; ++i) {
    HEFT_RETURN_IF_ERROR(Given(requests[i], "requests[i]"));
    audited.requests.push_back(requests[i]->files);
  }
  return audited;
}

// HeadOf: "LINES:HASH", or nothing.
absl::StatusOr<std::optional<AuditHead>> HeadOf(const std::string& text, const char* name) {
  if (text.empty()) return std::nullopt;
  HEFT_ASSIGN_OR_RETURN(AuditHead head, ParseAuditHead(text, name));
  return head;
}

}  // namespace
}  // namespace heft::c

using heft::c::Call;
using heft::c::Given;
using heft::c::Span;

heft_status heft_audit_key_make(const char* gallery, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery"));
    return heft::MakeAuditKey(gallery);
  });
}

heft_status heft_audit_reveal(const char* gallery, const char* server, heft_bytes reply,
                              heft_buffer** seed, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery", server, "server", reply, "reply", seed, "seed"));
    HEFT_ASSIGN_OR_RETURN(const heft::SignerKey key, heft::ParseSignerKey(server));
    HEFT_ASSIGN_OR_RETURN(auto bytes, heft::RevealSeed(gallery, key, Span(reply), "reply"));
    *seed = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_audit_reply(const heft_matcher* matcher, const heft_gallery* copy,
                             const heft_trust* trust, heft_bytes reply, heft_bytes seed,
                             const heft_files* const* requests, size_t count, heft_result** result,
                             heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", copy, "copy", trust, "trust", reply, "reply",
                               seed, "seed", requests, "requests", result, "result"));
    HEFT_RETURN_IF_ERROR(copy->Held());
    HEFT_ASSIGN_OR_RETURN(const auto audited, heft::c::ReadAudited(reply, seed, requests, count));
    HEFT_ASSIGN_OR_RETURN(const auto finding,
                          heft::AuditReply(matcher->server, copy->gallery, trust->trust, audited));
    *result = new heft_result(heft::c::RecordJson(finding));
    return absl::OkStatus();
  });
}

heft_status heft_audit_gallery(const heft_matcher* matcher, const heft_gallery* copy,
                               heft_bytes state, const heft_trust* trust, heft_result** result,
                               heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(matcher, "matcher", copy, "copy", state, "state", trust, "trust", result, "result"));
    HEFT_RETURN_IF_ERROR(copy->Held());
    std::string what = "state";
    std::vector<uint8_t> read;
    if (state.data == nullptr) {
      what = heft::StateFile(copy->name);
      HEFT_ASSIGN_OR_RETURN(read, heft::ReadFile(what, heft::kMaxReplySize));
      state = {read.data(), read.size()};
    }
    HEFT_ASSIGN_OR_RETURN(const auto finding, heft::AuditGallery(matcher->server, copy->gallery,
                                                                 Span(state), trust->trust, what));
    *result = new heft_result(heft::c::RecordJson(finding));
    return absl::OkStatus();
  });
}

heft_status heft_audit_choose(uint64_t replies, uint64_t one_in, heft_result** result,
                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(result, "result"));
    *result = new heft_result(heft::Json(heft::ChooseForAudit(replies, one_in)));
    return absl::OkStatus();
  });
}

heft_status heft_audit_verify_logs(const char* const* files, size_t count,
                                   const heft_options* options, heft_result** result,
                                   heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(files, "files", result, "result"));
    std::string noted, after;
    heft::c::OptionReader read(options);
    read.Text("noted", &noted).Text("after", &after);
    HEFT_RETURN_IF_ERROR(read.Finish());
    HEFT_ASSIGN_OR_RETURN(const auto paths, heft::c::Strings(files, count, "files"));
    HEFT_ASSIGN_OR_RETURN(const auto expected, heft::c::HeadOf(noted, "noted"));
    HEFT_ASSIGN_OR_RETURN(const auto before, heft::c::HeadOf(after, "after"));
    HEFT_ASSIGN_OR_RETURN(
        const auto head,
        heft::VerifyAuditLogs(paths, expected ? &*expected : nullptr, before ? &*before : nullptr));
    *result = new heft_result(heft::c::RecordJson(head));
    return absl::OkStatus();
  });
}
