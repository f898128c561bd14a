// SPDX-License-Identifier: Apache-2.0
// A server's keys, expanded once. Evaluation and enrolment keys are stored packed, half of them as
// seeds. Unpacking takes most of the time of a process that serves one request. ExpandedKeys keeps
// the unpacked keys in a file beside them, which later processes map and share:
//
//   heft::ExpandedKeys::Make(model, "evaluation.keys", "evaluation.keys.expanded");   // once
//   auto keys = heft::ExpandedKeys::Open("evaluation.keys.expanded", "evaluation.keys");
//   auto server = keys.ok() ? heft::Server::CreateFrom(model, {.expanded = &*keys})
//                           : heft::Server::Create(model, evaluation_keys);
//
// Such a file can be made again at any time. It is used only if no other user, except root, can
// have written it. Link heft::server.
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

// ExpandedKeys: the mapped keys of one key file. Servers that were created from it keep the
// mapping.
class HEFT_EXPORT ExpandedKeys {
 public:
  class HEFT_HIDDEN Impl;

  // Make: expands the key file `source`, evaluation or enrolment keys for `model`, into the file
  // `path`, which is replaced in one step. Several processes may do so at once. Takes ten times the
  // size of `source` in memory. Checks no signature: use CheckSigned. Errors of Server::Create;
  // kUnavailable if the operating system refuses the write.
  static absl::Status Make(const Model& model, const std::string& source, const std::string& path);

  // Open: kDataLoss if the file is damaged, of another version, or of other keys than `source` has
  // now: call Make. kFailedPrecondition if another user could have written it (the file is another
  // user's, writable for others, or a link); kNotFound without it or `source`; kUnavailable. After
  // any of these errors `source` can still be parsed.
  static absl::StatusOr<ExpandedKeys> Open(const std::string& path, const std::string& source);

  ExpandedKeys(ExpandedKeys&&) noexcept;
  ExpandedKeys& operator=(ExpandedKeys&&) noexcept;
  ~ExpandedKeys();

  // Checks the key file's stored statement and signature, as OpenSigned. The result has no `file`.
  absl::StatusOr<SignedFile> CheckSigned(const Trust& trust, const Expected& expected,
                                         std::string_view what) const;
  // Size of the mapping.
  size_t bytes() const;

 private:
  friend struct Inside;
  explicit ExpandedKeys(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_EXPANDED_KEYS_H_
