// SPDX-License-Identifier: Apache-2.0
// The server's role: probes, requests and signed replies.
#include <memory>

#include "c/handles.h"
#include "c/options.h"
#include "heft/c/matcher.h"
#include "heft/server.h"

namespace heft::c {
namespace {

// Question: the kind of a call; each reads other members of ProbeOptions.
enum class Question { kIdentify, kIdentifyAll, kVerify };

absl::StatusOr<ProbeOptions> ReadProbeOptions(const heft_options* options, Question question) {
  ProbeOptions probe;
  std::vector<std::string> where;
  OptionReader read(options);
  if (question != Question::kIdentifyAll) {
    read.Integer("row", &probe.row).Flag("average", &probe.average);
  }
  if (question != Question::kVerify) {
    read.Flag("with_identities", &probe.with_identities);
    read.Flag("relinearise", &probe.relinearise).Texts("where", &where);
  }
  HEFT_RETURN_IF_ERROR(read.Finish());
  HEFT_ASSIGN_OR_RETURN(probe.where, ParseConditions(where));
  return probe;
}

// Taker: calls a C callback for the library, and keeps the callback's result.
struct Taker {
  heft_take_reply take;
  void* user;
  heft_status refused = HEFT_OK;

  absl::Status operator()(size_t row, std::span<const uint8_t> reply) {
    refused = take(user, row, {reply.data(), reply.size()});
    if (refused == HEFT_OK) return absl::OkStatus();
    return absl::CancelledError("the callback for replies has refused one");
  }
  heft_status Outcome(heft_status status, heft_error** error) const {
    if (refused == HEFT_OK || status == HEFT_OUT_OF_MEMORY) return status;
    return Report(error, refused, "the callback for replies has refused one");
  }
};

absl::StatusOr<std::vector<ProbeRequest>> ReadProbes(const heft_files* const* probes,
                                                     const heft_options* const* options,
                                                     size_t count) {
  std::vector<ProbeRequest> requests;
  for (size_t i = 0; i < count; ++i) {
    HEFT_RETURN_IF_ERROR(Given(probes[i], "probes[i]"));
    HEFT_ASSIGN_OR_RETURN(
        ProbeOptions probe,
        ReadProbeOptions(options == nullptr ? nullptr : options[i], Question::kIdentify));
    requests.push_back({probes[i]->files, std::move(probe)});
  }
  return requests;
}

}  // namespace
}  // namespace heft::c

using heft::c::Allowed;
using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;
using heft::c::Question;
using heft::c::ReadProbeOptions;
using heft::c::Taker;

heft_status heft_matcher_identify(const heft_matcher* matcher, const heft_gallery* gallery,
                                  const heft_files* files, const heft_options* options,
                                  heft_monitor monitor, void* user, heft_buffer** reply,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(matcher, "matcher", gallery, "gallery", files, "files", reply, "reply"));
    HEFT_ASSIGN_OR_RETURN(const auto probe, ReadProbeOptions(options, Question::kIdentify));
    HEFT_ASSIGN_OR_RETURN(auto bytes, matcher->server.Identify(gallery->gallery, files->files,
                                                               probe, AsMonitor(monitor, user)));
    *reply = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_matcher_identify_all(const heft_matcher* matcher, const heft_gallery* gallery,
                                      const heft_files* files, const heft_options* options,
                                      heft_take_reply take, heft_monitor monitor, void* user,
                                      heft_error** error) {
  Taker taker = {take, user};
  const heft_status status = Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(matcher, "matcher", gallery, "gallery", files, "files", take, "take"));
    HEFT_ASSIGN_OR_RETURN(const auto probe, ReadProbeOptions(options, Question::kIdentifyAll));
    return matcher->server.IdentifyAll(gallery->gallery, files->files, probe, std::ref(taker),
                                       AsMonitor(monitor, user));
  });
  return taker.Outcome(status, error);
}

heft_status heft_matcher_identify_together(const heft_matcher* matcher, const heft_gallery* gallery,
                                           const heft_files* const* probes,
                                           const heft_options* const* options, size_t count,
                                           heft_buffer** replies, heft_status* statuses,
                                           heft_error** errors, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery"));
    if (count == 0) return absl::OkStatus();
    HEFT_RETURN_IF_ERROR(Given(probes, "probes", replies, "replies", statuses, "statuses"));
    HEFT_ASSIGN_OR_RETURN(auto requests, heft::c::ReadProbes(probes, options, count));
    auto answers = matcher->server.IdentifyTogether(gallery->gallery, std::move(requests));
    // All memory is taken before anything is handed out.
    std::vector<std::unique_ptr<heft_buffer>> buffers(count);
    for (size_t i = 0; i < count; ++i) {
      if (answers[i].ok()) buffers[i] = std::make_unique<heft_buffer>(*std::move(answers[i]));
    }
    for (size_t i = 0; i < count; ++i) {
      statuses[i] = HEFT_OK;
      if (buffers[i] == nullptr) {
        const absl::Status& status = answers[i].status();
        statuses[i] = heft::c::Report(errors == nullptr ? nullptr : &errors[i],
                                      heft::c::KindOf(status), heft::c::Text(status));
      }
      replies[i] = buffers[i].release();
    }
    return absl::OkStatus();
  });
}

heft_status heft_matcher_verify(const heft_matcher* matcher, const heft_gallery* gallery,
                                const heft_files* files, const char* identity,
                                const heft_options* options, heft_buffer** reply,
                                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery", files, "files", identity,
                               "identity", reply, "reply"));
    HEFT_ASSIGN_OR_RETURN(const auto probe, ReadProbeOptions(options, Question::kVerify));
    HEFT_ASSIGN_OR_RETURN(auto bytes,
                          matcher->server.Verify(gallery->gallery, files->files, identity, probe));
    *reply = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_matcher_verify_all(const heft_matcher* matcher, const heft_gallery* gallery,
                                    const heft_files* files, const char* identity,
                                    heft_take_reply take, heft_monitor monitor, void* user,
                                    heft_error** error) {
  Taker taker = {take, user};
  const heft_status status = Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery", files, "files", identity,
                               "identity", take, "take"));
    return matcher->server.VerifyAll(gallery->gallery, files->files, identity, std::ref(taker),
                                     AsMonitor(monitor, user));
  });
  return taker.Outcome(status, error);
}

heft_status heft_request_read(const heft_files* files, const heft_trust* trust, const char* server,
                              heft_request** request, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(files, "files", server, "server", request, "request"));
    HEFT_RETURN_IF_ERROR(Allowed(trust, "trust"));
    HEFT_ASSIGN_OR_RETURN(const heft::SignerKey key, heft::ParseSignerKey(server));
    HEFT_ASSIGN_OR_RETURN(
        auto read,
        heft::ReadRequest(files->files, trust == nullptr ? nullptr : &trust->trust, key));
    *request = new heft_request(std::move(read));
    return absl::OkStatus();
  });
}

void heft_request_free(heft_request* request) { heft::c::Free(request); }

heft_status heft_request_remember(const heft_request* request, const char* gallery, uint64_t row,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(request, "request", gallery, "gallery"));
    return heft::RememberRequest(gallery, request->request, row);
  });
}

heft_status heft_gallery_signer(const char* gallery, heft_signing_key** key, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery", key, "key"));
    HEFT_ASSIGN_OR_RETURN(heft::SigningKey signer, heft::GallerySigner(gallery));
    *key = new heft_signing_key(std::move(signer));
    return absl::OkStatus();
  });
}

heft_status heft_sign_reply(const heft_signing_key* key, const heft_gallery* gallery,
                            const heft_request* request, uint64_t row, const char* audience,
                            heft_bytes reply, uint64_t life, heft_buffer** signed_reply,
                            heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(key, "key", gallery, "gallery", reply, "reply", signed_reply, "signed_reply"));
    HEFT_RETURN_IF_ERROR(Allowed(request, "request"));
    heft::SignerKey whom{};
    if (audience != nullptr) {
      HEFT_ASSIGN_OR_RETURN(whom, heft::ParseSignerKey(audience));
    }
    HEFT_ASSIGN_OR_RETURN(
        auto bytes, heft::SignReply(key->key, gallery->gallery,
                                    request == nullptr ? heft::Request{} : request->request, row,
                                    whom, heft::c::Span(reply), life));
    *signed_reply = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}
