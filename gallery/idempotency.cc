// SPDX-License-Identifier: Apache-2.0
// Stored answers to requests with an idempotency key.
#include "gallery/change.h"

namespace heft {
namespace {

constexpr uint64_t kRemembered = 7 * 86400;

}  // namespace

absl::StatusOr<std::optional<std::vector<uint8_t>>> RecallRequest(const StoreReader& reader,
                                                                  uint32_t gallery,
                                                                  std::string_view key,
                                                                  const Digest& request,
                                                                  uint64_t now) {
  std::optional<std::vector<uint8_t>> answer;
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        reader.Get(Table::kRequests, DigestKey(gallery, HashBytes(AsBytes(key)))));
  if (!bytes) return answer;
  ByteReader fields(*bytes, "the gallery's idempotency keys");
  const uint64_t until = fields.U64();
  const Digest same = ReadDigest(fields);
  HEFT_RETURN_IF_ERROR(fields.status());
  if (until < now) return answer;
  if (same != request) {
    return absl::AlreadyExistsError(
        "this idempotency key was given before, with another request: give each request its own");
  }
  const ByteSpan rest = fields.Raw(fields.remaining());
  answer.emplace(rest.begin(), rest.end());
  return answer;
}

absl::Status GalleryChange::Remember(std::string_view key, const Digest& request, ByteSpan answer) {
  // A few of those whose time is over go with each that comes.
  constexpr size_t kForgotten = 16, kLookedAt = 256;
  std::vector<StoreKey> over;
  size_t looked = 0;
  StoreKey from = DigestKey(number_, HashBytes(AsBytes(key)));
  HEFT_RETURN_IF_ERROR(writer_->Scan(Table::kRequests, from, [&](ByteSpan at, ByteSpan value) {
    if (!OfGallery(number_, at) || ++looked > kLookedAt) return false;
    if (ByteReader(value, "an idempotency key").U64() < now_)
      over.emplace_back(at.begin(), at.end());
    return over.size() < kForgotten;
  }));
  for (const StoreKey& gone : over) HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kRequests, gone));
  ByteWriter writer;
  writer.U64(now_ + kRemembered);
  writer.Raw(request);
  writer.Raw(answer);
  return writer_->Put(Table::kRequests, DigestKey(number_, HashBytes(AsBytes(key))),
                      writer.bytes());
}

}  // namespace heft
