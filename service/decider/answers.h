// SPDX-License-Identifier: Apache-2.0
// AnswerLog: what was answered to a reply, for a day. A reply is opened once; when its answer is
// lost on the way, whoever asked asks again with the same reply and is given the same answer, and
// nothing is charged. What is remembered is of whoever asked, for whom he asked, and nobody else.
// What was decided is kept before it is signed and recorded: where that fails, it is done for who
// asks again.
//
// It is there again after a crash of the process, not of the machine: what a loss of power takes is
// an answer, and the reply it was of is refused from then on, as the journal knows it. So nothing
// is ever told twice at the price of one.
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
inline constexpr size_t kMostAnswers = 1 << 17;      // of two files each; then the older one goes
inline constexpr size_t kAnswerRecords = 2;          // what was decided, and the answer
inline constexpr uint64_t kLongestAnswer = 1 << 16;  // bytes

class AnswerLog {
 public:
  // The files answers.0 and answers.1 of `folder`, which is there; mode 0600. A torn end, which a
  // crash leaves, is cut off. kUnavailable.
  static absl::StatusOr<std::unique_ptr<AnswerLog>> Open(const std::string& folder);
  ~AnswerLog();

  // Once: the answer that `asker` (who, and for whom) had to `reply`, or what `finish` makes now of
  // what `decide` gives. `decide` is not called again for what it has given once; `finish` is,
  // until it has given an answer. Of several calls at once for one reply one asks, the others wait
  // for it. `now`: Unix seconds.
  using Deciding = std::function<absl::StatusOr<std::string>()>;
  using Finishing = std::function<absl::StatusOr<std::string>(const std::string& decided)>;
  absl::StatusOr<std::string> Once(const Digest& reply, const std::string& asker, uint64_t now,
                                   const Deciding& decide, const Finishing& finish);

  size_t size() const;

 private:
  // Where it lies: in which of the two files.
  struct Place {
    int file = 0;
    uint64_t offset = 0;
    uint32_t size = 0;
    uint64_t time = 0;
    bool finished = false;
  };
  struct Kept {
    std::string text;
    bool finished = false;  // it is the answer, not only what was decided
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
  // TryToRemember: what is told already is told all the same.
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
