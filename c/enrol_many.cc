// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "c/handles.h"
#include "c/options.h"
#include "c/result.h"
#include "c/samples.h"
#include "heft/desk.h"

namespace heft::c {
namespace {

// Approver: calls a C callback for the library, and keeps the callback's result.
struct Approver {
  heft_answer_request approve;
  void* user;
  heft_status refused = HEFT_OK;

  absl::StatusOr<std::vector<uint8_t>> operator()(std::span<const uint8_t> request) {
    heft_buffer* answer = nullptr;
    refused = CallBack(approve, user, heft_bytes{request.data(), request.size()}, &answer);
    if (refused != HEFT_OK) return absl::CancelledError("the callback for admissions has refused");
    HEFT_RETURN_IF_ERROR(Given(answer, "admission"));
    const std::unique_ptr<heft_buffer> owned(answer);
    return std::move(owned->bytes);
  }
};

absl::StatusOr<EnrolManyOptions> ReadOptions(const heft_options* options, const heft_trust* trust) {
  EnrolManyOptions many;
  std::vector<std::string> metadata;
  OptionReader read(options);
  read.Texts("metadata", &metadata).Integer("expires", &many.expires).Integer("start", &many.from);
  HEFT_RETURN_IF_ERROR(read.Finish());
  HEFT_ASSIGN_OR_RETURN(many.metadata, ParseMetadata(metadata));
  if (trust != nullptr) many.trust = &trust->trust;
  return many;
}

}  // namespace
}  // namespace heft::c

using heft::c::Allowed;
using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;

heft_status heft_enrol_many(const heft_client* client, const heft_matcher* matcher,
                            const char* gallery, const heft_rows* modalities, size_t count,
                            const char* const* labels, const heft_options* options,
                            heft_answer_request approve, const heft_trust* trust,
                            heft_monitor monitor, void* user, size_t* next, heft_result** result,
                            heft_error** error) {
  heft::c::Approver approver = {approve, user};
  const heft_status status = Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(client, "client", matcher, "matcher", gallery, "gallery", modalities,
                               "modalities", labels, "labels", result, "result"));
    HEFT_RETURN_IF_ERROR(Allowed(trust, "trust"));
    HEFT_ASSIGN_OR_RETURN(auto many, heft::c::ReadOptions(options, trust));
    if (approve != nullptr) many.approve = std::ref(approver);
    many.next = next;
    if (next != nullptr) *next = many.from;
    heft::c::SampleRows samples;
    HEFT_RETURN_IF_ERROR(samples.Read(client->client.model().modalities, modalities, count, labels,
                                      nullptr, /*fused=*/true));
    HEFT_ASSIGN_OR_RETURN(const auto done,
                          heft::EnrolMany(client->client, matcher->server, gallery, samples.views(),
                                          many, AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::RecordJson(done));
    return absl::OkStatus();
  });
  if (approver.refused == HEFT_OK || status == HEFT_OUT_OF_MEMORY) return status;
  return heft::c::Report(error, approver.refused, "the callback for admissions has refused");
}
