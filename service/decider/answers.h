// SPDX-License-Identifier: Apache-2.0
// AnswerLog: the answers to replies, for a day. A reply is opened once. If its answer is lost on
// the way, the same caller can send the same reply again and gets the same answer without a charge.
// An answer is kept for one caller and the party that it asked for, and for no other. A decision is
// kept before it is signed and recorded; if one of these fails, a repeated request finishes it.
//
// The log survives a crash of the process, but not of the machine. A power failure loses an answer,
// and its reply is refused from then on, because the journal knows it. So one charge never pays for
// two openings.
#ifndef HEFT_SERVICE_DECIDER_ANSWERS_H_
#define HEFT_SERVICE_DECIDER_ANSWERS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/trust.h"
#include "service/turns.h"
#include "store/once.h"

namespace heft::service {

inline constexpr uint64_t kAnswerLife = 86400;    // seconds
inline constexpr uint64_t kMaxAnswers = 1 << 18;  // then the oldest go

class AnswerLog {
 public:
  // In the table of the existing `folder` (store/once.h). kUnavailable, kDataLoss.
  static absl::StatusOr<std::unique_ptr<AnswerLog>> Open(const std::string& folder);

  // Once: the answer that `asker` (the caller and the party that it asks for) got to `reply`;
  // without one, the result of `finish` on the result of `decide`. A successful `decide` is not
  // repeated; `finish` is repeated until it succeeds. Concurrent calls for one reply wait for the
  // first. `now`: Unix seconds.
  using Deciding = std::function<absl::StatusOr<std::string>()>;
  using Finishing = std::function<absl::StatusOr<std::string>(const std::string& decided)>;
  absl::StatusOr<std::string> Once(const Digest& reply, const std::string& asker, uint64_t now,
                                   const Deciding& decide, const Finishing& finish);

  uint64_t size();

 private:
  explicit AnswerLog(const std::string& path) : table_(path) {}
  // TryToRemember: a failure is ignored, as the answer has been given.
  void TryToRemember(const std::string& key, char kind, const std::string& text, uint64_t now);

  OnceTable table_;
  Turns turns_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_ANSWERS_H_
