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

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/trust.h"

namespace heft::service {

inline constexpr uint64_t kAnswerLife = 86400;       // seconds
inline constexpr size_t kMaxAnswers = 1 << 17;       // of two files each; then the older one goes
inline constexpr size_t kAnswerRecords = 2;          // the decision, and the answer
inline constexpr uint64_t kLongestAnswer = 1 << 16;  // bytes

class AnswerLog {
 public:
  // The files answers.0 and answers.1 (mode 0600) of the existing `folder`. An incomplete record at
  // the end, which a crash leaves, is cut off. kUnavailable.
  static absl::StatusOr<std::unique_ptr<AnswerLog>> Open(const std::string& folder);
  ~AnswerLog();

  // Once: the answer that `asker` (the caller and the party that it asks for) got to `reply`;
  // without one, the result of `finish` on the result of `decide`. A successful `decide` is not
  // repeated; `finish` is repeated until it succeeds. Concurrent calls for one reply wait for the
  // first. `now`: Unix seconds.
  using Deciding = std::function<absl::StatusOr<std::string>()>;
  using Finishing = std::function<absl::StatusOr<std::string>(const std::string& decided)>;
  absl::StatusOr<std::string> Once(const Digest& reply, const std::string& asker, uint64_t now,
                                   const Deciding& decide, const Finishing& finish);

  size_t size() const;

 private:
  // Place: the file (0 or 1) and offset of a record.
  struct Place {
    int file = 0;
    uint64_t offset = 0;
    uint32_t size = 0;
    uint64_t time = 0;
    bool finished = false;
  };
  struct Kept {
    std::string text;
    bool finished = false;  // the answer, not only the decision
  };
  struct File {
    int descriptor = -1;
    uint64_t size = 0, began = 0;
    size_t entries = 0;
  };
  using Key = Digest;  // of reply and asker

  AnswerLog() = default;
  absl::Status Load(int file);
  absl::Status Begin(int file, uint64_t now);
  absl::StatusOr<std::optional<Kept>> Find(const Key& key, uint64_t now) const;
  absl::Status Remember(const Key& key, const Kept& kept, uint64_t now);
  // TryToRemember: a failure is ignored, as the answer has been given.
  void TryToRemember(const Key& key, const Kept& kept, uint64_t now);

  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::set<Key> asking_;
  std::map<Key, Place> places_;
  File files_[2];
  int current_ = 0;
  std::string folder_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_ANSWERS_H_
