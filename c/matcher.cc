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

heft_status heft_matcher_create(const heft_model* model, heft_bytes evaluation_keys,
                                heft_bytes enrolment_keys, heft_matcher** matcher,
                                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", evaluation_keys, "evaluation_keys", enrolment_keys,
                               "enrolment_keys", matcher, "matcher"));
    HEFT_ASSIGN_OR_RETURN(
        auto server, heft::Server::Create(model->model, Span(evaluation_keys), "evaluation keys",
                                          Span(enrolment_keys)));
    *matcher = new heft_matcher(std::move(server));
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
    HEFT_ASSIGN_OR_RETURN(
        auto server, heft::Server::CreateFrom(model->model, evaluation.view(), enrolment.view()));
    *matcher = new heft_matcher(std::move(server));
    return absl::OkStatus();
  });
}

heft_status heft_expand_keys(const heft_model* model, const char* file, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", file, "file"));
    return heft::ExpandedKeys::Make(model->model, file, std::string(file) + ".expanded");
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
                                 uint64_t templates, uint64_t bytes, heft_buffer** request,
                                 heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery", request, "request"));
    const heft::PendingLimit limit = {.templates = templates == 0 ? UINT64_MAX : templates,
                                      .bytes = bytes == 0 ? UINT64_MAX : bytes};
    heft::Desk desk = DeskOf(matcher, nullptr);
    desk.open = [gallery](const std::string&) { return gallery->gallery.Newest(); };
    HEFT_ASSIGN_OR_RETURN(auto made, desk.Pending(gallery->name, limit));
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
