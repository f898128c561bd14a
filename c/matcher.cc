// SPDX-License-Identifier: Apache-2.0
// The server's role: keys, enrolment and admission.
#include "heft/c/matcher.h"

#include "c/gallery_options.h"
#include "c/handles.h"
#include "c/result.h"
#include "heft/desk.h"
#include "heft/results.h"
#include "heft/server.h"

using heft::Json;
using heft::c::Allowed;
using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::DeskOf;
using heft::c::Given;
using heft::c::Span;

namespace heft::c {
namespace {

// MatcherOf: a matcher of these keys, which an owner in `trust` must have signed if it is given.
// The signer of keys that are not expanded is known in any case.
absl::StatusOr<heft_matcher*> MatcherOf(const Model& model, const KeyFile& evaluation,
                                        const KeyFile& enrolment, const Trust* trust = nullptr) {
  HEFT_ASSIGN_OR_RETURN(CheckedKeys keys, CheckKeys(trust, evaluation, enrolment));
  if (trust == nullptr && evaluation.expanded == nullptr && IsSigned(evaluation.bytes)) {
    HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(evaluation.bytes, evaluation.what));
    keys.key_owner = file.signer;
  }
  HEFT_ASSIGN_OR_RETURN(Server server, Server::CreateFrom(model, keys.evaluation, keys.enrolment));
  return new heft_matcher(std::move(server), keys.key_owner);
}

std::string Beside(const char* source, const char* path) {
  return path == nullptr ? std::string(source) + ".expanded" : path;
}

}  // namespace
}  // namespace heft::c

heft_status heft_files_new(heft_files** files, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(files, "files"));
    *files = new heft_files;
    return absl::OkStatus();
  });
}

void heft_files_free(heft_files* files) { heft::c::Free(files); }

heft_status heft_files_add(heft_files* files, heft_bytes bytes, const char* name,
                           heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(files, "files", bytes, "bytes", name, "name"));
    const auto view = Span(bytes);
    files->files.push_back({{view.begin(), view.end()}, name});
    return absl::OkStatus();
  });
}

heft_status heft_request_digest(const heft_files* files, uint64_t row, heft_buffer** digest,
                                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(files, "files", digest, "digest"));
    std::vector<std::span<const uint8_t>> views;
    for (const heft::SampleFile& file : files->files) views.emplace_back(file.bytes);
    const heft::Digest made = heft::RequestDigest(heft::FilesDigest(views), row);
    *digest = new heft_buffer({made.begin(), made.end()});
    return absl::OkStatus();
  });
}

heft_status heft_matcher_create(const heft_model* model, heft_bytes evaluation_keys,
                                heft_bytes enrolment_keys, heft_matcher** matcher,
                                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", evaluation_keys, "evaluation_keys", enrolment_keys,
                               "enrolment_keys", matcher, "matcher"));
    HEFT_ASSIGN_OR_RETURN(
        *matcher, heft::c::MatcherOf(model->model, {.bytes = Span(evaluation_keys)},
                                     {.bytes = Span(enrolment_keys), .what = "enrolment keys"}));
    return absl::OkStatus();
  });
}

heft_status heft_matcher_create_checked(const heft_model* model, heft_bytes evaluation_keys,
                                        heft_bytes enrolment_keys,
                                        const heft_expanded_keys* expanded_evaluation,
                                        const heft_expanded_keys* expanded_enrolment,
                                        const heft_options* options, const heft_trust* trust,
                                        heft_matcher** matcher, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", evaluation_keys, "evaluation_keys", enrolment_keys,
                               "enrolment_keys", matcher, "matcher"));
    HEFT_RETURN_IF_ERROR(Allowed(expanded_evaluation, "expanded_evaluation"));
    HEFT_RETURN_IF_ERROR(Allowed(expanded_enrolment, "expanded_enrolment"));
    HEFT_RETURN_IF_ERROR(Allowed(trust, "trust"));
    std::string evaluation = "evaluation keys", enrolment = "enrolment keys";
    heft::c::OptionReader read(options);
    read.Text("evaluation_name", &evaluation).Text("enrolment_name", &enrolment);
    HEFT_RETURN_IF_ERROR(read.Finish());
    const auto expanded = [](const heft_expanded_keys* keys) {
      return keys == nullptr ? nullptr : &keys->keys;
    };
    HEFT_ASSIGN_OR_RETURN(
        *matcher,
        heft::c::MatcherOf(model->model,
                           {Span(evaluation_keys), evaluation, expanded(expanded_evaluation)},
                           {Span(enrolment_keys), enrolment, expanded(expanded_enrolment)},
                           trust == nullptr ? nullptr : &trust->trust));
    return absl::OkStatus();
  });
}

heft_status heft_matcher_open(const heft_model* model, const char* evaluation_keys,
                              const char* enrolment_keys, heft_matcher** matcher,
                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(model, "model", evaluation_keys, "evaluation_keys", matcher, "matcher"));
    HEFT_ASSIGN_OR_RETURN(const auto evaluation, heft::LoadedKeys::Read(evaluation_keys));
    heft::LoadedKeys enrolment;
    if (enrolment_keys != nullptr) {
      HEFT_ASSIGN_OR_RETURN(enrolment, heft::LoadedKeys::Read(enrolment_keys));
    }
    HEFT_ASSIGN_OR_RETURN(*matcher,
                          heft::c::MatcherOf(model->model, evaluation.view(), enrolment.view()));
    return absl::OkStatus();
  });
}

heft_status heft_expanded_keys_make(const heft_model* model, const char* source, const char* path,
                                    heft_expanded_keys** keys, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", source, "source", keys, "keys"));
    HEFT_RETURN_IF_ERROR(
        heft::ExpandedKeys::Make(model->model, source, heft::c::Beside(source, path)));
    HEFT_ASSIGN_OR_RETURN(auto made,
                          heft::ExpandedKeys::Open(heft::c::Beside(source, path), source));
    *keys = new heft_expanded_keys(std::move(made));
    return absl::OkStatus();
  });
}

heft_status heft_expanded_keys_open(const char* source, const char* path, heft_expanded_keys** keys,
                                    heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(source, "source", keys, "keys"));
    HEFT_ASSIGN_OR_RETURN(auto opened,
                          heft::ExpandedKeys::Open(heft::c::Beside(source, path), source));
    *keys = new heft_expanded_keys(std::move(opened));
    return absl::OkStatus();
  });
}

void heft_expanded_keys_free(heft_expanded_keys* keys) { heft::c::Free(keys); }

heft_status heft_expanded_keys_describe(const heft_expanded_keys* keys, heft_result** result,
                                        heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(keys, "keys", result, "result"));
    *result = new heft_result(Json::object({{"size", keys->keys.bytes()}}));
    return absl::OkStatus();
  });
}

heft_status heft_expanded_keys_check(const heft_expanded_keys* keys, const heft_trust* trust,
                                     const char* kind, heft_result** statement,
                                     heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(keys, "keys", trust, "trust", kind, "kind", statement, "statement"));
    HEFT_ASSIGN_OR_RETURN(
        const heft::SignedFile file,
        keys->keys.CheckSigned(trust->trust, {.roles = {heft::Role::kKeyOwner}, .kind = kind},
                               "expanded keys"));
    *statement = new heft_result(heft::c::StatementJson(file));
    return absl::OkStatus();
  });
}

void heft_matcher_free(heft_matcher* matcher) { heft::c::Free(matcher); }

heft_status heft_matcher_enrol(const heft_matcher* matcher, const char* gallery,
                               const heft_files* files, const heft_options* options,
                               const heft_trust* trust, heft_monitor monitor, void* user,
                               heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(matcher, "matcher", gallery, "gallery", files, "files", result, "result"));
    HEFT_RETURN_IF_ERROR(Allowed(trust, "trust"));
    heft::EnrolRequest request = {.gallery = gallery, .files = files->files};
    HEFT_ASSIGN_OR_RETURN(request.options, heft::c::ReadEnrolOptions(options));
    HEFT_ASSIGN_OR_RETURN(
        const heft::EnrolResult done,
        DeskOf(matcher, trust).Enrol(std::move(request), AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::WithReasons(done));
    return absl::OkStatus();
  });
}

heft_status heft_matcher_pending(const heft_matcher* matcher, const heft_gallery* gallery,
                                 const heft_options* options, heft_buffer** request,
                                 heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery", request, "request"));
    heft::PendingLimit limit = {.templates = 0};
    heft::Signing how;
    heft::c::OptionReader read(options);
    read.Integer("templates", &limit.templates).Integer("bytes", &limit.bytes);
    read.Flag("sign", &how.sign);
    HEFT_RETURN_IF_ERROR(read.Finish());
    if (limit.templates == 0) limit = heft::kAllPending;
    if (limit.bytes == 0) limit.bytes = UINT64_MAX;
    HEFT_ASSIGN_OR_RETURN(
        auto made,
        heft::c::At(gallery, DeskOf(matcher, nullptr)).Pending(gallery->name, limit, how));
    *request = new heft_buffer(std::move(made));
    return absl::OkStatus();
  });
}

heft_status heft_matcher_activate(const heft_matcher* matcher, const char* gallery,
                                  heft_bytes admission, const heft_trust* trust,
                                  heft_monitor monitor, void* user, heft_result** result,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery", admission, "admission",
                               trust, "trust", result, "result"));
    HEFT_ASSIGN_OR_RETURN(
        const heft::ActivateResult done,
        DeskOf(matcher, trust)
            .Activate(gallery, Span(admission), "admission", AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::WithReasons(done));
    return absl::OkStatus();
  });
}

heft_status heft_matcher_fold(const heft_matcher* matcher, const char* gallery,
                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery"));
    return matcher->server.Fold(gallery);
  });
}
