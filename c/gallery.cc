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

Json Describe(const Gallery& gallery, const std::string& name) {
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
          {"damaged_blocks", RecordJson(DamagedBlocks(gallery))},
          {"damaged_records", Json(DamagedRecords(gallery))},
          {"state_file", StateFile(name)}};
}

absl::StatusOr<Json> List(const char* name, const heft_options* options) {
  ListOptions list;
  std::vector<std::string> where;
  OptionReader read(options);
  read.Integer("start", &list.from).Integer("count", &list.count).Texts("where", &where);
  read.Flag("pending", &list.pending);
  HEFT_RETURN_IF_ERROR(read.Finish());
  HEFT_ASSIGN_OR_RETURN(list.where, ConditionsOf(where));
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
    *newest = new heft_gallery(std::move(opened), gallery->name, gallery->signer);
    return absl::OkStatus();
  });
}

heft_status heft_gallery_unread(const heft_gallery* gallery, heft_gallery** unread,
                                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery", unread, "unread"));
    *unread = new heft_gallery(gallery->gallery.Unread(), gallery->name, gallery->signer);
    (*unread)->unread = true;
    return absl::OkStatus();
  });
}

void heft_gallery_free(heft_gallery* gallery) { heft::c::Free(gallery); }

heft_status heft_gallery_describe(const heft_gallery* gallery, heft_result** result,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery", result, "result"));
    if (!gallery->unread) {
      *result = new heft_result(heft::c::Describe(gallery->gallery, gallery->name));
      return absl::OkStatus();
    }
    HEFT_ASSIGN_OR_RETURN(const heft::Gallery newest, gallery->gallery.Newest());
    *result = new heft_result(heft::c::Describe(newest, gallery->name));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_identities(const heft_gallery* gallery, heft_result** result,
                                    heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery", result, "result"));
    HEFT_RETURN_IF_ERROR(gallery->Held());
    *result = new heft_result(Json(gallery->gallery.identities()));
    return absl::OkStatus();
  });
}

heft_status heft_gallery_rekey(heft_gallery* gallery, const heft_model* model,
                               heft_bytes rekeying_key, heft_monitor monitor, void* user,
                               heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(gallery, "gallery", model, "model", rekeying_key, "rekeying_key", result, "result"));
    HEFT_RETURN_IF_ERROR(gallery->Held());
    HEFT_ASSIGN_OR_RETURN(const auto done,
                          gallery->gallery.Rekey(model->model, heft::c::Span(rekeying_key),
                                                 "re-keying key", AsMonitor(monitor, user)));
    *result =
        new heft_result(Json({{"from", heft::c::Hex(done.from)},
                              {"to", heft::c::Hex(done.to)},
                              {"overwritten", done.overwritten.ok()},
                              {"overwritten_error", std::string(done.overwritten.message())}}));
    return absl::OkStatus();
  });
}

void heft_set_writer_wait(int seconds) { heft::SetWriterWait(seconds); }

heft_status heft_parse_expiry(const char* text, uint64_t now, int64_t* time, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(text, "text", time, "time"));
    HEFT_ASSIGN_OR_RETURN(const uint64_t expiry,
                          heft::ParseExpiry(text, now == HEFT_NOW ? heft::UnixTime() : now));
    *time = static_cast<int64_t>(expiry);
    return absl::OkStatus();
  });
}

heft_status heft_condition_read(const char* condition, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(condition, "condition", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto read, heft::c::ConditionsOf({condition}));
    const heft::Condition& one = read.front();
    const auto bound = [](std::optional<double> b) { return b ? heft::Json(*b) : heft::Json(); };
    *result = new heft_result(heft::Json({{"key", one.key},
                                          {"values", one.values},
                                          {"at_least", bound(one.at_least)},
                                          {"at_most", bound(one.at_most)},
                                          {"text", heft::ConditionText(one)}}));
    return absl::OkStatus();
  });
}

heft_status heft_fits(const heft_options* options, int* fits, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(fits, "fits"));
    std::vector<std::string> pairs, where;
    heft::c::OptionReader read(options);
    HEFT_RETURN_IF_ERROR(read.Texts("metadata", &pairs).Texts("where", &where).Finish());
    HEFT_ASSIGN_OR_RETURN(const heft::Metadata metadata, heft::ParseMetadata(pairs));
    HEFT_ASSIGN_OR_RETURN(const auto conditions, heft::c::ConditionsOf(where));
    *fits = heft::Fits(metadata, conditions) ? 1 : 0;
    return absl::OkStatus();
  });
}

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
    std::vector<std::string> receipts;
    read.Flag("without_receipts", &restore.without_receipts).Texts("receipts", &receipts);
    HEFT_RETURN_IF_ERROR(read.Finish());
    HEFT_ASSIGN_OR_RETURN(restore.receipts, heft::c::ReadFileList(receipts, "receipts"));
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
