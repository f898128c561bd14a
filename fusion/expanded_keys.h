// SPDX-License-Identifier: Apache-2.0
// Expanded keys (kind EXPK): switching keys in the form of their use, in a mapped file. An envelope
// lists the content; the values follow from the next page on. Format: docs/formats.md.
#ifndef HEFT_FUSION_EXPANDED_KEYS_H_
#define HEFT_FUSION_EXPANDED_KEYS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/mapped_file.h"
#include "base/signed_file.h"
#include "base/status.h"
#include "ckks/keys.h"
#include "fusion/rings.h"
#include "heft/server.h"

namespace heft {

inline constexpr std::string_view kExpandedKeysKind = "EXPK";
inline constexpr uint32_t kExpandedKeysVersion = 1;
// Instead of a Galois element: the switch to the other ring.
inline constexpr uint32_t kRingSwitchElement = 0;

// KeySource: the key file from which the keys were expanded.
struct KeySource {
  std::string kind;  // EVAL or ENRK
  FileStamp stamp;
  Hash bytes{};     // of all of it
  SignedHead head;  // of the file in it, if it is signed
};

class ExpandedKeys::Impl {
 public:
  struct Entry {
    uint32_t element = 1;
    ckks::SwitchKey key;
  };

  // Views, kept alive by `owner`; they start on a cache line. kDataLoss unless all bytes are right.
  static absl::StatusOr<Impl> Parse(ByteSpan bytes, std::shared_ptr<const void> owner,
                                    std::string_view what);

  const KeySource& source() const { return source_; }
  const ckks::ParamsId& params_id() const { return params_id_; }
  const ckks::KeyId& key_id() const { return key_id_; }
  uint32_t n() const { return n_; }
  const std::vector<Entry>& entries() const { return entries_; }
  size_t bytes() const { return bytes_; }

 private:
  KeySource source_;
  ckks::ParamsId params_id_{};
  ckks::KeyId key_id_{};
  uint32_t n_ = 0;
  std::vector<Entry> entries_;
  size_t bytes_ = 0;
};

// PackExpandedKeys: the file in pieces: the first one, then the keys' own values.
struct ExpandedPieces {
  std::vector<uint8_t> head;
  std::vector<ByteSpan> all() const;
  std::vector<ByteSpan> values;
};
ExpandedPieces PackExpandedKeys(const KeySource& source, const ckks::ParamsId& params_id,
                                const ckks::KeyId& key_id, uint32_t n,
                                std::span<const ExpandedKeys::Impl::Entry> entries);

// TakeExpandedKeys: puts into `keys` the result of ParseEvaluationKeys or ParseEnrolmentKeys for
// the source, with the same errors; `kind` is the required kind. Take evaluation keys first.
absl::Status TakeExpandedKeys(const Rings& rings, const ExpandedKeys::Impl& expanded,
                              std::string_view kind, std::string_view what, RingKeys* keys);

}  // namespace heft

#endif  // HEFT_FUSION_EXPANDED_KEYS_H_
