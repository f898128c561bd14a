// SPDX-License-Identifier: Apache-2.0
// Gallery: enrolled, encrypted templates in a store, which is a folder (docs/gallery.md). Opening
// reads little: templates stay in a mapped file until they are matched. Only one process at a time
// changes a store; others wait. Any number of processes read it without waiting. A change is
// visible completely or not at all, also after a crash or on a full disk.
//
// Several threads may use one object as long as none calls Rekey. An object shows one generation of
// the gallery. Templates that were removed later cannot be erased while it exists, so a service
// calls Newest for each probe.
#ifndef HEFT_GALLERY_H_
#define HEFT_GALLERY_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/model.h"
#include "heft/trust.h"

namespace heft {

// Metadata: unencrypted facts that a gallery stores with a template, such as site, lists or age,
// and conditions that restrict an identification to matching templates. docs/gallery.md says which
// role learns what from them.

inline constexpr size_t kMaxMetadataPairs = 16;
inline constexpr size_t kMaxMetadataKey = 64;     // bytes
inline constexpr size_t kMaxMetadataValue = 255;  // bytes

// MetadataPair: a key of 1 to kMaxMetadataKey bytes a to z, 0 to 9, '.', '_', '-', and a value of
// 1 to kMaxMetadataValue bytes of UTF-8, of the characters that an identity may have.
struct MetadataPair {
  std::string key, value;
  auto operator<=>(const MetadataPair&) const = default;
};
// Metadata: at most kMaxMetadataPairs, all different. A key may occur several times, for example
// if a person is on two lists.
using Metadata = std::vector<MetadataPair>;

// CheckMetadata: kInvalidArgument, with the reason, for invalid metadata.
HEFT_EXPORT absl::Status CheckMetadata(const Metadata& metadata);
// ParseMetadataPair: reads "site=berlin". kInvalidArgument.
HEFT_EXPORT absl::StatusOr<MetadataPair> ParseMetadataPair(std::string_view text);
// ParseMetadata: reads several pairs. Errors of CheckMetadata.
HEFT_EXPORT absl::StatusOr<Metadata> ParseMetadata(std::span<const std::string> pairs);

// ParseExpiry: Unix seconds from a date ("2027-01-31", from 00:00 UTC on), a time
// ("2027-01-31T12:30:00Z"), or a duration from `now` ("90d"; s, m, h, d and y, of 365 days); 0 for
// an empty text. kInvalidArgument for other texts, and for a time that has passed.
HEFT_EXPORT absl::StatusOr<uint64_t> ParseExpiry(std::string_view text, uint64_t now);

// Condition: a key has one of `values`, at most kMaxConditionValues, all different. Without
// values: a key has a number within the bounds as a value, and at least one bound is set. A number
// is written in decimal digits: "34", "-0.5" or "1e3".
struct Condition {
  std::string key;
  std::vector<std::string> values;
  std::optional<double> at_least = {}, at_most = {};
  bool operator==(const Condition&) const = default;
};
inline constexpr size_t kMaxConditions = 16;
inline constexpr size_t kMaxConditionValues = 64;

// CheckConditions: kInvalidArgument, with the reason, for invalid conditions.
HEFT_EXPORT absl::Status CheckConditions(std::span<const Condition> conditions);
// ParseCondition: reads "site=berlin", "list=a|b" (one of them), "age=18..30", "age=18.." or
// "age=..30" (bounds included). kInvalidArgument. Cannot express values that contain "|" or "..".
HEFT_EXPORT absl::StatusOr<Condition> ParseCondition(std::string_view text);
// ParseConditions: reads several conditions. Errors of CheckConditions.
HEFT_EXPORT absl::StatusOr<std::vector<Condition>> ParseConditions(
    std::span<const std::string> texts);
// ConditionText: the text that ParseCondition reads.
HEFT_EXPORT std::string ConditionText(const Condition& condition);

// Fits: whether all conditions hold, each for at least one value of its key.
HEFT_EXPORT bool Fits(const Metadata& metadata, std::span<const Condition> conditions);

// KeyId: identifies a secret key, in every file made for it. ParamsId: identifies a set of
// encryption parameters, in every file made for it.
using KeyId = std::array<uint8_t, 16>;
using ParamsId = std::array<uint8_t, 16>;

// ScoreKind: the question that a reply answers, 1:N or 1:1.
enum class ScoreKind : uint8_t { kIdentification = 0, kVerification = 1 };

// SetWriterWait: how many seconds a change of a gallery waits for another process's change before
// it returns kUnavailable; initially 60.
HEFT_EXPORT void SetWriterWait(int seconds);

class HEFT_EXPORT Gallery {
 public:
  class HEFT_HIDDEN Impl;

  // `gallery`: FOLDER, or FOLDER:NAME for one of several in a store ("main" is the first one's
  // name). kNotFound if there is none, kDataLoss if it is damaged.
  static absl::StatusOr<Gallery> Open(const std::string& gallery);
  // The newest generation. Keeps the results of checks of unchanged blocks: takes microseconds if
  // nothing has changed.
  absl::StatusOr<Gallery> Newest() const;
  // Unread: the same generation without keeping it from being erased, for long-running services. It
  // may be used for Newest, ids and sizes, but not for matching.
  Gallery Unread() const;

  Gallery(Gallery&&) noexcept;
  Gallery& operator=(Gallery&&) noexcept;
  ~Gallery();

  // Identity of each template, by position; empty for a position without a template. Several
  // templates may have the same identity. Reads the whole roster at the first call.
  std::vector<std::string> identities() const;
  size_t size() const;          // templates
  size_t places() const;        // positions that are or were filled
  size_t blocks() const;        // blocks that hold them
  const GalleryId& id() const;  // drawn when it was created
  uint64_t generation() const;  // number of changes
  uint32_t gamma() const;       // dimension of a template
  const ModelId& model_id() const;
  const KeyId& key_id() const;
  const ParamsId& params_id() const;
  // Earlier keys of the templates, oldest first; they are no longer accepted.
  const std::vector<KeyId>& revoked_keys() const;

  // kDataLoss unless all data exist and are intact. Reads everything.
  absl::Status CheckFiles() const;

  struct Rekeyed {
    KeyId from{}, to{};
    // Whether the data under the old key are overwritten. They are not if another process has read
    // an older state for longer than the writer's wait: CompactGallery tries again.
    absl::Status overwritten = {};
  };
  // Moves all templates to another key without decrypting them: all or none. The old key is
  // revoked: files under it are no longer accepted. `key` holds the bytes of a re-keying key;
  // `what` names it in errors. kFailedPrecondition for another model, a key that does not start
  // from this gallery's key, or one that leads to a revoked key; kCancelled; kUnavailable if
  // another process changes the gallery or the operating system refuses the write. Takes some
  // seconds for a thousand blocks, and memory for one block.
  absl::StatusOr<Rekeyed> Rekey(const Model& model, std::span<const uint8_t> key,
                                std::string_view what, const Monitor& monitor = {});

 private:
  friend struct Inside;
  explicit Gallery(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_GALLERY_H_
