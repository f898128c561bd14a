// SPDX-License-Identifier: Apache-2.0
// galleries: list, state and operators' changes.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "heft/gallery_admin.h"
#include "service/json.h"
#include "service/matcher/samples.h"
#include "service/matcher/started_requests.h"
#include "service/matcher/state.h"

namespace heft::service {
namespace {

absl::StatusOr<GalleryInfo> Describe(MatcherState* state, const std::string& gallery,
                                     const Model* model) {
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
  return DescribeGallery(address, model);
}

absl::StatusOr<HttpResponse> ReadGalleries(MatcherState* state, const HttpRequest&) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, state->galleries.Names());
  Json out = Json::array();
  for (const std::string& name : names) {
    HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, Describe(state, name, nullptr));
    out.push_back(RecordJson(info));
  }
  return JsonResponse({{"galleries", std::move(out)}});
}

absl::StatusOr<HttpResponse> ReadGallery(MatcherState* state, const HttpRequest& request) {
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info,
                        Describe(state, request.Parameter("gallery"), nullptr));
  return JsonResponse(RecordJson(info));
}

absl::StatusOr<HttpResponse> ReadStats(MatcherState* state, const HttpRequest& request) {
  const auto engine = state->engine.Get();
  auto info = Describe(state, request.Parameter("gallery"), &engine->model);
  // A gallery of another model has no noise margin under this one.
  if (absl::IsFailedPrecondition(info.status())) {
    info = Describe(state, request.Parameter("gallery"), nullptr);
  }
  HEFT_RETURN_IF_ERROR(info.status());
  return JsonResponse(RecordJson(*info));
}

Hash WhatIsMade(const HttpRequest& request, const std::string& key) {
  const std::string text =
      absl::StrCat("HEFT gallery\n", request.who.name.size(), "\n", request.who.name, "\n",
                   key.size(), "\n", key, "\n", HexString(HashBytes(request.bytes())));
  return HashBytes(AsBytes(text));
}

absl::StatusOr<HttpResponse> MakeGallery(MatcherState* state, const HttpRequest& request) {
  HEFT_ASSIGN_OR_RETURN(const Json body, ReadJson(request));
  if (!body.is_object()) return absl::InvalidArgumentError("the body must be a JSON object");
  HEFT_RETURN_IF_ERROR(CheckKnown(body, {"gallery", "retention_seconds", "retention_bytes"}));
  HEFT_ASSIGN_OR_RETURN(const std::string name, TextOf(body, "gallery"));
  HEFT_RETURN_IF_ERROR(state->galleries.Address(name).status());
  if (state->bucket_nodes.Has(name)) {
    return absl::AlreadyExistsError(
        absl::StrCat("\"", name, "\" is a gallery in buckets ([shards] galleries)"));
  }
  Retained retained = state->config.retained;
  HEFT_ASSIGN_OR_RETURN(retained.seconds, NumberOf(body, "retention_seconds", retained.seconds));
  HEFT_ASSIGN_OR_RETURN(retained.bytes, NumberOf(body, "retention_bytes", retained.bytes));
  HEFT_ASSIGN_OR_RETURN(const std::string key, IdempotencyKeyOf(request));
  const Hash what = WhatIsMade(request, key);
  const StartedRequests started(state->config.state, "galleries");
  const bool again = !key.empty() && started.Has(what);
  HEFT_RETURN_IF_ERROR(Intend(state, request, {{"operation", "createGallery"}, {"gallery", name}}));
  if (!key.empty()) HEFT_RETURN_IF_ERROR(started.Begin(what));
  const absl::Status made = state->galleries.Create(*state->engine.Get(), name, retained).status();
  // An existing gallery is no error if this request made it before and the answer was lost.
  if (!made.ok() && !(again && absl::IsAlreadyExists(made))) {
    if (!key.empty() && !again) started.End(what);  // another request made it, or none
    return made;
  }
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, Describe(state, name, nullptr));
  return JsonResponse(RecordJson(info), 201);
}

Tasks::Work Compaction(MatcherState* state, const std::string& address) {
  return [state, address](const Monitor&) -> absl::StatusOr<Json> {
    HEFT_ASSIGN_OR_RETURN(const CompactResult done,
                          CompactGallery(state->engine.Get()->server, address));
    state->exchange.Wake();
    return ErasureJson(state->galleries, done);
  };
}

Tasks::Work Verification(MatcherState* state, const std::string& address) {
  return [state, address](const Monitor& monitor) -> absl::StatusOr<Json> {
    const auto engine = state->engine.Get();
    HEFT_ASSIGN_OR_RETURN(const VerifyResult found,
                          VerifyGallery(address, &engine->model, monitor));
    return RecordJson(found);
  };
}

Tasks::Work Renewing(MatcherState* state, const std::string& gallery, bool compact) {
  return [state, gallery, compact](const Monitor& monitor) -> absl::StatusOr<Json> {
    HEFT_ASSIGN_OR_RETURN(const RenewResult done,
                          state->exchange.RenewAll(gallery, compact, monitor));
    return ErasureJson(state->galleries, done);
  };
}

// A copy of the whole store, in the configured folder, with a name that we choose.
absl::StatusOr<Tasks::Work> Copying(MatcherState* state) {
  if (state->config.snapshots.empty()) {
    return absl::FailedPreconditionError(
        "this service is configured without a folder for copies ([store] snapshots)");
  }
  const std::string name = absl::StrCat("snapshot-", UnixTime());
  const std::string out = absl::StrCat(state->config.snapshots, "/", name);
  return [state, name, out](const Monitor& monitor) -> absl::StatusOr<Json> {
    HEFT_ASSIGN_OR_RETURN(const auto copied, Snapshot(state->galleries.folder(), out,
                                                      /*with_keys=*/false, monitor));
    return Json{{"snapshot", name}, {"galleries", RecordJson(copied)}};
  };
}

absl::StatusOr<HttpResponse> BeginTask(MatcherState* state, const HttpRequest& request,
                                       const std::string& what) {
  const std::string& gallery = request.Parameter("gallery");
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
  Tasks::Work work;
  if (what == "compact") {
    work = Compaction(state, address);
  } else if (what == "verify") {
    work = Verification(state, address);
  } else if (what == "renew") {
    if (!state->exchange.has_decider()) {
      return absl::FailedPreconditionError(
          "no decider is configured ([decider] url): transfer the request by hand (GET "
          "/v1/galleries/{gallery}/renewal)");
    }
    work = Renewing(state, gallery, request.Query("compact") == "true");
  } else {
    HEFT_ASSIGN_OR_RETURN(work, Copying(state));
  }
  HEFT_RETURN_IF_ERROR(
      Intend(state, request, {{"operation", absl::StrCat(what, "Gallery")}, {"gallery", gallery}}));
  HEFT_ASSIGN_OR_RETURN(const std::string task, state->tasks.Start(absl::StrCat(what, "Gallery"),
                                                                   request.who, std::move(work)));
  return Accepted(task);
}

}  // namespace

void AddGalleryRoutes(MatcherState* state, Router* router) {
  const auto read = [&](const char* pattern, const char* operation, auto function) {
    router->Add({"GET", pattern, operation, Scope::kReadGallery,
                 Answers(state, [state, function](const HttpRequest& request) {
                   return function(state, request);
                 })});
  };
  read("/v1/galleries", "listGalleries", ReadGalleries);
  read("/v1/galleries/{gallery}", "readGallery", ReadGallery);
  read("/v1/galleries/{gallery}/stats", "readGalleryStats", ReadStats);
  const auto change = [&](const std::string& pattern, const std::string& operation,
                          Answering answering) {
    Route route = {"POST", pattern, operation, Scope::kManageGallery,
                   AnswersOnce(state, std::move(answering))};
    route.signed_request = true;
    route.audited = true;
    router->Add(std::move(route));
  };
  change("/v1/galleries", "createGallery",
         [state](const HttpRequest& request) { return MakeGallery(state, request); });
  for (const std::string what : {"compact", "verify", "renew", "snapshot"}) {
    change(absl::StrCat("/v1/galleries/{gallery}/", what), absl::StrCat(what, "Gallery"),
           [state, what](const HttpRequest& request) { return BeginTask(state, request, what); });
  }
}

}  // namespace heft::service
