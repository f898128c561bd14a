// SPDX-License-Identifier: Apache-2.0
// Galleries: their content, checks of it, and copies.
#include "heft/gallery.h"

#include "c/gallery_options.h"
#include "c/handles.h"
#include "c/options.h"
#include "c/result.h"
#include "heft/gallery_admin.h"
#include "heft/results.h"

namespace heft::c {
namespace {

Json Describe(const Gallery& gallery) {
  return {{"gallery_id", Hex(gallery.id())},
          {"model_id", Hex(gallery.model_id())},
          {"key_id", Hex(gallery.key_id())},
          {"params_id", Hex(gallery.params_id())},
          {"generation", gallery.generation()},
          {"templates", gallery.size()},
          {"places", gallery.places()},
          {"blocks", gallery.blocks()},
          {"gamma", gallery.gamma()},
          {"revoked_keys", HexList(gallery.revoked_keys())},
          {"damaged_blocks", RecordJson(DamagedBlocks(gallery))}};
}

absl::StatusOr<Json> List(const char* name, const heft_options* options) {
  ListOptions list;
  std::vector<std::string> where;
  OptionReader read(options);
  read.Integer("from", &list.from).Integer("count", &list.count).Texts("where", &where);
  read.Flag("pending", &list.pending);
  HEFT_RETURN_IF_ERROR(read.Finish());
  HEFT_ASSIGN_OR_RETURN(list.where, ParseConditions(where));
  Json templates = Json::array();
  HEFT_ASSIGN_OR_RETURN(const auto next,
                        ListTemplates(name, list, [&](const ListedTemplate& listed) {
                          templates.push_back(RecordJson(listed));
                          return absl::OkStatus();
                        }));
  return Json({{"templates", std::move(templates)}, {"next", next ? Json(*next) : Json(nullptr)}});
}

const Model* OrNull(const heft_model* model) { return model == nullptr ? nullptr : &model->model; }

}  // namespace
}  // namespace heft::c

using heft::Json;
using heft::c::Allowed;
using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;

heft_status heft_gallery_open(const char* name, heft_gallery** gallery, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", gallery, "gallery"));
    HEFT_ASSIGN_OR_RETURN(heft::Gallery opened, heft::Gallery::Open(name));
    *gallery = new heft_gallery(std::move(opened), name);
    return absl::OkStatus();
  });
}

heft_status heft_gallery_newest(const heft_gallery* gallery, heft_gallery** newest,
                                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery", newest, "newest"));
    HEFT_ASSIGN_OR_RETURN(heft::Gallery opened, gallery->gallery.Newest());
    *newest = new heft_gallery(std::move(opened), gallery->name);
    return absl::OkStatus();
  });
}

void heft_gallery_free(heft_gallery* gallery) { heft::c::Free(gallery); }

heft_status heft_gallery_describe(const heft_gallery* gallery, heft_result** result,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery", result, "result"));
    *result = new heft_result(heft::c::Describe(gallery->gallery));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_rekey(heft_gallery* gallery, const heft_model* model,
                               heft_bytes rekeying_key, heft_monitor monitor, void* user,
                               heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(gallery, "gallery", model, "model", rekeying_key, "rekeying_key", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto done,
                          gallery->gallery.Rekey(model->model, heft::c::Span(rekeying_key),
                                                 "re-keying key", AsMonitor(monitor, user)));
    *result = new heft_result(Json({{"from", heft::c::Hex(done.from)},
                                    {"to", heft::c::Hex(done.to)},
                                    {"overwritten", done.overwritten.ok()}}));
    return absl::OkStatus();
  });
}

void heft_set_writer_wait(int seconds) { heft::SetWriterWait(seconds); }

heft_status heft_gallery_create(const heft_matcher* matcher, const char* name,
                                const heft_options* options, heft_result** result,
                                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const heft::Retained retained, heft::c::ReadRetained(options));
    HEFT_ASSIGN_OR_RETURN(const heft::GalleryId id,
                          heft::c::DeskOf(matcher, nullptr).Create(name, retained));
    *result = new heft_result(Json::object({{"gallery_id", heft::c::Hex(id)}}));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_stats(const char* name, const heft_model* model, heft_result** result,
                               heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", result, "result"));
    HEFT_RETURN_IF_ERROR(Allowed(model, "model"));
    HEFT_ASSIGN_OR_RETURN(const auto info, heft::DescribeGallery(name, heft::c::OrNull(model)));
    *result = new heft_result(heft::c::RecordJson(info));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_names(const char* folder, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto names, heft::GalleryNames(folder));
    *result = new heft_result(Json(names));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_list(const char* name, const heft_options* options, heft_result** result,
                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(Json json, heft::c::List(name, options));
    *result = new heft_result(std::move(json));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_person(const char* name, const char* identity, heft_result** result,
                                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", identity, "identity", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto person, heft::DescribePerson(name, identity));
    *result = new heft_result(heft::c::RecordJson(person));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_pending(const char* name, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto waiting, heft::PendingEnrolments(name));
    *result = new heft_result(heft::c::RecordJson(waiting));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_verify(const char* name, const heft_model* model, heft_monitor monitor,
                                void* user, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", result, "result"));
    HEFT_RETURN_IF_ERROR(Allowed(model, "model"));
    HEFT_ASSIGN_OR_RETURN(const auto found, heft::VerifyGallery(name, heft::c::OrNull(model),
                                                                AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::WithReasons(found));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_snapshot(const char* folder, const char* out, int with_keys,
                                  heft_monitor monitor, void* user, heft_result** result,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder", out, "out", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto copies,
                          heft::Snapshot(folder, out, with_keys != 0, AsMonitor(monitor, user)));
    *result = new heft_result(Json::object({{"galleries", heft::c::RecordJson(copies)}}));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_restore(const char* snapshot, const char* folder,
                                 const heft_options* options, const heft_matcher* matcher,
                                 const heft_trust* trust, heft_monitor monitor, void* user,
                                 heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(snapshot, "snapshot", folder, "folder", result, "result"));
    HEFT_RETURN_IF_ERROR(Allowed(matcher, "matcher"));
    HEFT_RETURN_IF_ERROR(Allowed(trust, "trust"));
    heft::RestoreOptions restore;
    heft::c::OptionReader read(options);
    read.Flag("accept_older", &restore.accept_older);
    read.Flag("without_receipts", &restore.without_receipts);
    HEFT_RETURN_IF_ERROR(read.Finish());
    if (matcher != nullptr) restore.server = &matcher->server;
    if (trust != nullptr) restore.trust = &trust->trust;
    HEFT_ASSIGN_OR_RETURN(const auto done,
                          heft::Restore(snapshot, folder, restore, AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::WithReasons(done));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_export(const char* name, const char* out, heft_monitor monitor, void* user,
                                heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name", out, "out", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto copied,
                          heft::ExportGallery(name, out, AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::RecordJson(copied));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_import(const char* from, const char* name, heft_monitor monitor,
                                void* user, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(from, "from", name, "name", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto copied,
                          heft::ImportGallery(from, name, AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::RecordJson(copied));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_remember(const char* name, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(name, "name"));
    return heft::RememberGeneration(name);
  });
}
