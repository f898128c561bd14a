// SPDX-License-Identifier: Apache-2.0
#include "service/decider/answers.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

constexpr OnceTable::Scope kAnswers = {
    .name = "answers", .most_entries = kMaxAnswers, .oldest_goes = true};
// A result begins with one of these.
constexpr char kDecided = 'D', kAnswered = 'A';

std::string KeyOf(const Digest& reply, const std::string& asker) {
  std::vector<uint8_t> bytes(reply.begin(), reply.end());
  bytes.insert(bytes.end(), asker.begin(), asker.end());
  const Hash hash = HashBytes(bytes);
  return {hash.begin(), hash.end()};
}

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerLog>> AnswerLog::Open(const std::string& folder) {
  std::unique_ptr<AnswerLog> log(new AnswerLog(absl::StrCat(folder, "/", std::string(kOnceFile))));
  HEFT_RETURN_IF_ERROR(log->table_.Count(kAnswers).status());
  return log;
}

void AnswerLog::TryToRemember(const std::string& key, char kind, const std::string& text,
                              uint64_t now) {
  const OnceTable::Entry entry = {
      .key = key, .result = std::string(1, kind) + text, .expires = now + kAnswerLife};
  if (const absl::Status done = table_.Put(kAnswers, entry, now); !done.ok()) {
    LogLine(LogLevel::kWarning, "an answer could not be stored", {{"error", done.message()}});
  }
}

absl::StatusOr<std::string> AnswerLog::Once(const Digest& reply, const std::string& asker,
                                            uint64_t now, const Deciding& decide,
                                            const Finishing& finish) {
  const std::string key = KeyOf(reply, asker);
  const auto turn = turns_.Take(key);
  HEFT_ASSIGN_OR_RETURN(const auto found, table_.Find(kAnswers, key, now));
  if (found && found->result.starts_with(kAnswered)) return found->result.substr(1);
  absl::StatusOr<std::string> answer = found ? found->result.substr(1) : decide();
  if (answer.ok()) {
    if (!found) TryToRemember(key, kDecided, *answer, now);
    answer = finish(*answer);
  }
  if (answer.ok()) TryToRemember(key, kAnswered, *answer, now);
  return answer;
}

uint64_t AnswerLog::size() { return table_.Count(kAnswers).value_or(0); }

}  // namespace heft::service
