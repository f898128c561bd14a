// SPDX-License-Identifier: Apache-2.0
// Galleries in buckets.
#include "heft/shards.h"

#include "c/gallery_options.h"
#include "c/handles.h"
#include "c/result.h"
#include "c/samples.h"
#include "heft/results.h"

using heft::Json;
using heft::ShardList;
using heft::c::Allowed;
using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;

heft_status heft_shards_make(const char* gallery, const char* const* buckets, size_t count,
                             heft_shards** shards, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery", buckets, "buckets", shards, "shards"));
    HEFT_ASSIGN_OR_RETURN(const auto texts, heft::c::Strings(buckets, count, "buckets"));
    std::vector<heft::GalleryId> ids;
    for (const std::string& text : texts) {
      HEFT_ASSIGN_OR_RETURN(const heft::GalleryId id, heft::ParseGalleryId(text));
      ids.push_back(id);
    }
    HEFT_ASSIGN_OR_RETURN(ShardList list, ShardList::Make(gallery, std::move(ids)));
    *shards = new heft_shards(std::move(list));
    return absl::OkStatus();
  });
}

heft_status heft_shards_parse(heft_bytes text, const char* what, heft_shards** shards,
                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(text, "text", what, "what", shards, "shards"));
    const std::string_view view(static_cast<const char*>(text.data), text.size);
    HEFT_ASSIGN_OR_RETURN(ShardList list, ShardList::Parse(view, what));
    *shards = new heft_shards(std::move(list));
    return absl::OkStatus();
  });
}

heft_status heft_shards_load(const char* path, heft_shards** shards, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", shards, "shards"));
    HEFT_ASSIGN_OR_RETURN(ShardList list, ShardList::Load(path));
    *shards = new heft_shards(std::move(list));
    return absl::OkStatus();
  });
}

heft_status heft_shards_save(const heft_shards* shards, const char* path, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(shards, "shards", path, "path"));
    return shards->list.Save(path);
  });
}

void heft_shards_free(heft_shards* shards) { heft::c::Free(shards); }

heft_status heft_shards_describe(const heft_shards* shards, heft_result** result,
                                 heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(shards, "shards", result, "result"));
    const ShardList& list = shards->list;
    *result = new heft_result(Json({{"gallery", list.gallery()},
                                    {"gallery_id", heft::c::Hex(list.Id())},
                                    {"buckets", heft::c::HexList(list.buckets())},
                                    {"text", list.Serialize()}}));
    return absl::OkStatus();
  });
}

heft_status heft_shards_find(const heft_shards* shards, const char* gallery, const char* identity,
                             heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(shards, "shards", gallery, "gallery", identity, "identity", result, "result"));
    const uint32_t bucket = shards->list.BucketOf(identity);
    *result = new heft_result(Json({{"bucket", bucket},
                                    {"gallery_id", heft::c::Hex(shards->list.buckets()[bucket])},
                                    {"address", heft::BucketAddress(gallery, bucket)}}));
    return absl::OkStatus();
  });
}

heft_status heft_shards_number(const heft_shards* shards, const char* gallery_id, int64_t* bucket,
                               heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(shards, "shards", gallery_id, "gallery_id", bucket, "bucket"));
    HEFT_ASSIGN_OR_RETURN(const heft::GalleryId id, heft::ParseGalleryId(gallery_id));
    const auto found = shards->list.Find(id);
    *bucket = found ? int64_t{*found} : -1;
    return absl::OkStatus();
  });
}

heft_status heft_bucket_of(const char* identity, uint32_t buckets, int64_t* bucket,
                           heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(identity, "identity", bucket, "bucket"));
    if (buckets == 0) return absl::InvalidArgumentError("no bucket: give at least one");
    *bucket = heft::BucketOf(identity, buckets);
    return absl::OkStatus();
  });
}

heft_status heft_bucket_address(const char* gallery, uint32_t bucket, heft_result** result,
                                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(gallery, "gallery", result, "result"));
    *result = new heft_result(Json(heft::BucketAddress(gallery, bucket)));
    return absl::OkStatus();
  });
}

heft_status heft_shards_create(const heft_matcher* matcher, const char* gallery, uint32_t buckets,
                               const heft_options* options, heft_shards** shards,
                               heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(matcher, "matcher", gallery, "gallery", shards, "shards"));
    HEFT_ASSIGN_OR_RETURN(const heft::Retained retained, heft::c::ReadRetained(options));
    HEFT_ASSIGN_OR_RETURN(
        ShardList list,
        heft::c::DeskOf(matcher, nullptr).CreateInBuckets(gallery, buckets, retained));
    *shards = new heft_shards(std::move(list));
    return absl::OkStatus();
  });
}

heft_status heft_shards_open(const heft_shards* shards, const char* gallery, uint32_t bucket,
                             heft_gallery** opened, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(shards, "shards", gallery, "gallery", opened, "opened"));
    HEFT_ASSIGN_OR_RETURN(heft::Gallery one, heft::OpenBucket(gallery, shards->list, bucket));
    *opened = new heft_gallery(std::move(one), heft::BucketAddress(gallery, bucket));
    return absl::OkStatus();
  });
}

heft_status heft_shards_enrol(const heft_shards* shards, const heft_matcher* matcher,
                              const char* gallery, const heft_files* files,
                              const heft_options* options, const heft_trust* trust,
                              heft_monitor monitor, void* user, heft_result** result,
                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(shards, "shards", matcher, "matcher", gallery, "gallery", files,
                               "files", result, "result"));
    HEFT_RETURN_IF_ERROR(Allowed(trust, "trust"));
    heft::EnrolRequest request = {gallery, shards->list, files->files};
    HEFT_ASSIGN_OR_RETURN(request.options, heft::c::ReadEnrolOptions(options));
    HEFT_ASSIGN_OR_RETURN(
        const heft::EnrolResult done,
        heft::c::DeskOf(matcher, trust).Enrol(std::move(request), AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::RecordJson(done));
    return absl::OkStatus();
  });
}
