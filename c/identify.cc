// SPDX-License-Identifier: Apache-2.0
// The server's role: probes and their signed replies.
#include <memory>

#include "c/gallery_options.h"
#include "c/handles.h"
#include "c/options.h"
#include "c/taker.h"
#include "heft/c/matcher.h"

namespace heft::c {
namespace {

// Kind: of a call; each reads other options.
enum class Kind { kIdentify, kIdentifyAll, kVerify, kVerifyAll };

// Counter: a desk and a request for it.
struct Counter {
  Desk desk;
  MatchRequest request;
};

absl::StatusOr<Counter> ReadMatch(const heft_matcher& matcher, const heft_options* options,
                                  const heft_trust* trust, Kind kind) {
  HEFT_RETURN_IF_ERROR(Allowed(trust, "trust"));
  Counter out = {DeskOf(&matcher, trust), {}};
  MatchRequest& request = out.request;
  std::vector<std::string> where;
  std::string audience;
  OptionReader read(options);
  read.Text("audience", &audience).Flag("complete", &request.complete);
  read.Integer("life", &request.life).Flag("sign", &request.sign);
  if (kind == Kind::kIdentify || kind == Kind::kVerify) {
    read.Integer("row", &request.row).Flag("average", &request.probe.average);
  }
  if (kind == Kind::kIdentify || kind == Kind::kIdentifyAll) {
    read.Flag("identities", &request.probe.with_identities);
    read.Flag("relinearise", &request.probe.relinearise).Texts("where", &where);
  }
  HEFT_RETURN_IF_ERROR(read.Finish());
  if (!audience.empty()) {
    HEFT_ASSIGN_OR_RETURN(out.desk.audience, ParseSignerKey(audience));
  }
  HEFT_ASSIGN_OR_RETURN(request.probe.where, ConditionsOf(where));
  request.all = kind == Kind::kIdentifyAll || kind == Kind::kVerifyAll;
  return out;
}

// Face: the desk and the request at an open gallery.
void Face(const heft_gallery* gallery, Counter* counter) {
  counter->request.gallery = gallery->name;
  counter->desk = At(gallery, std::move(counter->desk));
}

// Keeper: takes the one reply.
auto Keeper(std::vector<uint8_t>* kept) {
  return [kept](SignedReply reply) {
    *kept = std::move(reply.bytes);
    return absl::OkStatus();
  };
}

}  // namespace
}  // namespace heft::c

using heft::c::Allowed;
using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;
using heft::c::Kind;
using heft::c::ReadMatch;
using heft::c::Taker;

heft_status heft_matcher_identify(const heft_matcher* matcher, const heft_gallery* gallery,
                                  const heft_files* files, const heft_options* options,
                                  const heft_trust* trust, heft_monitor monitor, void* user,
                                  heft_buffer** reply, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(matcher, "matcher", gallery, "gallery", files, "files", reply, "reply"));
    HEFT_ASSIGN_OR_RETURN(auto counter, ReadMatch(*matcher, options, trust, Kind::kIdentify));
    heft::c::Face(gallery, &counter);
    counter.request.files = files->files;
    std::vector<uint8_t> bytes;
    HEFT_RETURN_IF_ERROR(
        counter.desk
            .Identify(std::move(counter.request), heft::c::Keeper(&bytes), AsMonitor(monitor, user))
            .status());
    *reply = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_matcher_identify_all(const heft_matcher* matcher, const heft_gallery* gallery,
                                      const heft_files* files, const heft_options* options,
                                      const heft_trust* trust, heft_take_reply take,
                                      heft_monitor monitor, void* user, heft_error** error) {
  Taker taker = {take, user};
  const heft_status status = Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(matcher, "matcher", gallery, "gallery", files, "files", take, "take"));
    HEFT_ASSIGN_OR_RETURN(auto counter, ReadMatch(*matcher, options, trust, Kind::kIdentifyAll));
    heft::c::Face(gallery, &counter);
    counter.request.files = files->files;
    return counter.desk
        .Identify(std::move(counter.request), std::ref(taker), AsMonitor(monitor, user))
        .status();
  });
  return taker.Outcome(status, error);
}

heft_status heft_shards_identify(const heft_shards* shards, const heft_matcher* matcher,
                                 const char* gallery, const heft_files* files,
                                 const heft_options* options, const heft_trust* trust,
                                 heft_take_reply take, heft_monitor monitor, void* user,
                                 heft_error** error) {
  Taker taker = {take, user};
  const heft_status status = Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(shards, "shards", matcher, "matcher", gallery, "gallery", files,
                               "files", take, "take"));
    HEFT_ASSIGN_OR_RETURN(auto counter, ReadMatch(*matcher, options, trust, Kind::kIdentify));
    counter.request.gallery = gallery;
    counter.request.shards = shards->list;
    counter.request.files = files->files;
    return counter.desk
        .Identify(std::move(counter.request), std::ref(taker), AsMonitor(monitor, user))
        .status();
  });
  return taker.Outcome(status, error);
}

heft_status heft_matcher_identify_together(const heft_matcher* matcher, const heft_gallery* gallery,
                                           const heft_files* const* probes,
                                           const heft_options* const* options, size_t count,
                                           const heft_trust* trust, heft_buffer** replies,
                                           heft_status* statuses, heft_error** errors,
                                           heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery"));
    HEFT_ASSIGN_OR_RETURN(auto counter, ReadMatch(*matcher, nullptr, trust, Kind::kIdentify));
    if (count == 0) return absl::OkStatus();
    HEFT_RETURN_IF_ERROR(Given(probes, "probes", replies, "replies", statuses, "statuses"));
    heft::c::Face(gallery, &counter);
    std::vector<heft::MatchRequest> requests;
    for (size_t i = 0; i < count; ++i) {
      HEFT_RETURN_IF_ERROR(Given(probes[i], "probes[i]"));
      HEFT_ASSIGN_OR_RETURN(auto one, ReadMatch(*matcher, options == nullptr ? nullptr : options[i],
                                                trust, Kind::kIdentify));
      one.request.files = probes[i]->files;
      requests.push_back(std::move(one.request));
    }
    HEFT_ASSIGN_OR_RETURN(auto answers,
                          counter.desk.IdentifyTogether(gallery->name, std::move(requests)));
    // All memory is taken before anything is handed out.
    std::vector<std::unique_ptr<heft_buffer>> buffers(count);
    for (size_t i = 0; i < count; ++i) {
      if (answers[i].ok()) buffers[i] = std::make_unique<heft_buffer>(std::move(answers[i]->bytes));
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
                                const heft_options* options, const heft_trust* trust,
                                heft_buffer** reply, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery", files, "files", identity,
                               "identity", reply, "reply"));
    HEFT_ASSIGN_OR_RETURN(auto counter, ReadMatch(*matcher, options, trust, Kind::kVerify));
    heft::c::Face(gallery, &counter);
    counter.request.files = files->files;
    counter.request.claimed = identity;
    std::vector<uint8_t> bytes;
    HEFT_RETURN_IF_ERROR(
        counter.desk.Verify(std::move(counter.request), heft::c::Keeper(&bytes)).status());
    *reply = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_matcher_verify_all(const heft_matcher* matcher, const heft_gallery* gallery,
                                    const heft_files* files, const char* identity,
                                    const heft_options* options, const heft_trust* trust,
                                    heft_take_reply take, heft_monitor monitor, void* user,
                                    heft_error** error) {
  Taker taker = {take, user};
  const heft_status status = Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery", files, "files", identity,
                               "identity", take, "take"));
    HEFT_ASSIGN_OR_RETURN(auto counter, ReadMatch(*matcher, options, trust, Kind::kVerifyAll));
    heft::c::Face(gallery, &counter);
    counter.request.files = files->files;
    counter.request.claimed = identity;
    return counter.desk
        .Verify(std::move(counter.request), std::ref(taker), AsMonitor(monitor, user))
        .status();
  });
  return taker.Outcome(status, error);
}

heft_status heft_gallery_signer(const char* gallery, heft_signing_key** key, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery", key, "key"));
    HEFT_ASSIGN_OR_RETURN(heft::SigningKey signer, heft::GallerySigner(gallery));
    *key = new heft_signing_key(std::move(signer));
    return absl::OkStatus();
  });
}
