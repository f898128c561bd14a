// SPDX-License-Identifier: Apache-2.0
// The files that clients need to encrypt; and new models and keys.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "service/json.h"
#include "service/matcher/samples.h"
#include "service/matcher/state.h"

namespace heft::service {
namespace {

constexpr char kFingerprint[] = "ETag";

absl::StatusOr<HttpResponse> ReadParameters(MatcherState* state, const HttpRequest&) {
  const auto engine = state->engine.Get();
  Json modalities = Json::array();
  for (const ModalitySpec& m : engine->model.modalities) {
    modalities.push_back({{"name", m.name}, {"dimension", m.dimension}});
  }
  Json json = {{"model", HexString(engine->model.Id())},
               {"decision_model", HexString(engine->model.DecisionId())},
               {"profile", engine->model.profile},
               {"gamma", engine->model.gamma},
               {"modalities", std::move(modalities)},
               {"key", HexString(engine->key_id)},
               {"parameters", HexString(engine->params_id)},
               {"key_owner", HexString(engine->key_owner)},
               {"template_format", std::string(kTemplateFormat)},
               {"enrols", engine->enrols},
               {"loaded", TimeJson(engine->loaded)}};
  // The server that signed samples name.
  if (const auto signer = state->galleries.Signer(); signer.ok()) {
    json["server"] = HexString((*signer)->public_key());
  }
  Json staged = Json::array();
  for (const UploadKind kind : state->uploads.Staged())
    staged.push_back(std::string(UploadName(kind)));
  json["staged"] = std::move(staged);
  return JsonResponse(json);
}

// A file with its fingerprint as ETag, so that a client fetches it only once.
HttpResponse FileResponse(const HttpRequest& request, const std::vector<uint8_t>& file) {
  const std::string tag = absl::StrCat("\"", HexString(HashBytes(file)), "\"");
  HttpResponse response;
  if (request.Header("if-none-match") == tag) {
    response = BytesResponse({}, "", 304);
  } else {
    response = BytesResponse(file, std::string(kHeftType));
  }
  response.headers.emplace_back(kFingerprint, tag);
  return response;
}

absl::StatusOr<HttpResponse> ReadModel(MatcherState* state, const HttpRequest& request) {
  return FileResponse(request, state->engine.Get()->model_file);
}

absl::StatusOr<HttpResponse> ReadEncryptionKey(MatcherState* state, const HttpRequest& request) {
  const auto engine = state->engine.Get();
  if (engine->encryption_key.empty()) {
    return absl::NotFoundError(
        "this service has no encryption key ([keys] encryption): the key owner gives it out");
  }
  return FileResponse(request, engine->encryption_key);
}

absl::StatusOr<HttpResponse> PutFile(MatcherState* state, const HttpRequest& request,
                                     UploadKind kind) {
  const std::string name(UploadName(kind));
  HEFT_RETURN_IF_ERROR(Intend(state, request,
                              {{"operation", absl::StrCat("put ", name)},
                               {"digest", HexString(HashBytes(request.bytes()))}}));
  std::string why;
  HEFT_ASSIGN_OR_RETURN(const auto engine,
                        state->uploads.Put(kind, request.bytes(), &why, state->Use()));
  if (engine == nullptr) return JsonResponse({{"status", "staged"}, {"why", why}}, 202);
  state->exchange.Wake();
  return JsonResponse({{"status", "active"},
                       {"model", HexString(engine->model.Id())},
                       {"key", HexString(engine->key_id)}});
}

absl::StatusOr<HttpResponse> DropStaged(MatcherState* state, const HttpRequest&) {
  HEFT_RETURN_IF_ERROR(state->uploads.Drop());
  return NoContent();
}

}  // namespace

void AddKeyRoutes(MatcherState* state, Router* router) {
  const auto read = [&](const char* pattern, const char* operation, auto function) {
    router->Add({"GET", pattern, operation, Scope::kReadModel,
                 Answers(state, [state, function](const HttpRequest& request) {
                   return function(state, request);
                 })});
  };
  read("/v1/parameters", "readParameters", ReadParameters);
  read("/v1/model", "readModel", ReadModel);
  read("/v1/encryption-key", "readEncryptionKey", ReadEncryptionKey);
  const auto put = [&](const char* pattern, const char* operation, UploadKind kind) {
    Route route = {"PUT", pattern, operation, Scope::kManageKeys,
                   Answers(state, [state, kind](const HttpRequest& request) {
                     return PutFile(state, request, kind);
                   })};
    route.most_bytes = state->config.key_bytes;
    route.signed_request = true;
    route.audited = true;
    router->Add(std::move(route));
  };
  put("/v1/model", "updateModel", UploadKind::kModel);
  put("/v1/keys/evaluation", "updateEvaluationKeys", UploadKind::kEvaluationKeys);
  put("/v1/keys/enrolment", "updateEnrolmentKeys", UploadKind::kEnrolmentKeys);
  put("/v1/keys/encryption", "updateEncryptionKey", UploadKind::kEncryptionKey);
  Route drop = {
      "DELETE", "/v1/keys/staged", "deleteStagedKeys", Scope::kManageKeys,
      Answers(state, [state](const HttpRequest& request) { return DropStaged(state, request); })};
  drop.signed_request = true;
  drop.audited = true;
  router->Add(std::move(drop));
}

}  // namespace heft::service
