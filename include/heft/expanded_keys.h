// SPDX-License-Identifier: Apache-2.0
// A server's keys, expanded once. Evaluation and enrolment keys travel packed, half of them as
// seeds; a process that serves one request spends most of its time on making them what it reads.
// ExpandedKeys keeps that in a file beside them, which later processes map and share:
//
//   heft::ExpandedKeys::Make(model, "evaluation.keys", "evaluation.keys.expanded");   // once
//   auto keys = heft::ExpandedKeys::Open("evaluation.keys.expanded", "evaluation.keys");
//   auto server = keys.ok() ? heft::Server::CreateFrom(model, {.expanded = &*keys})
//                           : heft::Server::Create(model, evaluation_keys);
//
// Such a file is a copy that can be made anew at any time, and is believed only where nobody but
// this user and root can have written it. Link heft::server.
#ifndef HEFT_EXPANDED_KEYS_H_
#define HEFT_EXPANDED_KEYS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/model.h"
#include "heft/trust.h"

namespace heft {

// ExpandedKeys: those of one key file, mapped; servers that were made from it keep the mapping.
class HEFT_EXPORT ExpandedKeys {
 public:
  class HEFT_HIDDEN Impl;

  // Make: of the key file `source`, evaluation or enrolment keys for `model`, into the file `path`,
  // which is replaced whole, any number of makers at a time; ten times the size of `source` in
  // memory while it lasts. Errors of Server::Create;
  // kUnavailable where the disk refuses. It asks no signature: that is for CheckSigned, later.
  static absl::Status Make(const Model& model, const std::string& source, const std::string& path);

  // Open: kDataLoss where the file is damaged, of another version, or of other keys than now are in
  // `source`: Make it anew. kFailedPrecondition where somebody else could have written it (another
  // user's, writable for others, a link), kNotFound without it or `source`, kUnavailable. All of
  // them leave the way of parsing `source`.
  static absl::StatusOr<ExpandedKeys> Open(const std::string& path, const std::string& source);

  ExpandedKeys(ExpandedKeys&&) noexcept;
  ExpandedKeys& operator=(ExpandedKeys&&) noexcept;
  ~ExpandedKeys();

  // OpenSigned of the key file, whose statement and signature are kept: no `file` in the answer.
  absl::StatusOr<SignedFile> CheckSigned(const Trust& trust, const Expected& expected,
                                         std::string_view what) const;
  // What a process maps.
  size_t bytes() const;

 private:
  friend struct Inside;
  explicit ExpandedKeys(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_EXPANDED_KEYS_H_
