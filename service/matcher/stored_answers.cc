// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/stored_answers.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/files.h"
#include "heft/trust.h"
#include "service/run/log.h"
#include "service/text.h"

namespace heft::service {
namespace {

constexpr size_t kLongestKey = 255;
constexpr int kAccepted = 202;  // with the number of a task
constexpr OnceTable::Scope kAnswers = {.name = "answers",
                                       .most_entries = StoredAnswers::kMax,
                                       .most_bytes = StoredAnswers::kMaxBytes,
                                       .oldest_goes = true};

std::string WriteAnswer(const HttpResponse& answer) {
  ByteWriter writer;
  writer.U32(static_cast<uint32_t>(answer.status));
  writer.String(answer.content_type);
  writer.U64(answer.headers.size());
  for (const auto& [name, value] : answer.headers) {
    writer.String(name);
    writer.String(value);
  }
  writer.Raw(answer.body);
  return {writer.bytes().begin(), writer.bytes().end()};
}

absl::StatusOr<HttpResponse> ReadAnswer(const std::string& bytes) {
  ByteReader reader(AsBytes(bytes), "a stored answer");
  HttpResponse answer;
  answer.status = static_cast<int>(reader.U32());
  answer.content_type = reader.String();
  answer.headers.resize(reader.Count(16, bytes.size()));
  for (auto& [name, value] : answer.headers) {
    name = reader.String();
    value = reader.String();
  }
  const ByteSpan body = reader.Raw(reader.remaining());
  answer.body.assign(body.begin(), body.end());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return answer;
}

// WhatIsAsked: the request without its nonce and time, which differ at each repetition.
Hash WhatIsAsked(const HttpRequest& request) {
  std::string text = absl::StrCat(request.method, "\n", request.path, "\n");
  for (const auto& [name, value] : request.query) {
    absl::StrAppend(&text, name.size(), ":", name, value.size(), ":", value);
  }
  absl::StrAppend(&text, "\n", HexString(HashBytes(request.bytes())));
  return HashBytes(AsBytes(text));
}

}  // namespace

absl::StatusOr<std::string> IdempotencyKeyOf(const HttpRequest& request) {
  std::string key = request.Header("idempotency-key");
  if (key.size() <= kLongestKey) return key;
  return absl::InvalidArgumentError(
      absl::StrCat("Idempotency-Key: at most ", kLongestKey, " bytes"));
}

StoredAnswers::StoredAnswers(const std::string& state)
    : table_(OnceTable::Of(absl::StrCat(state, "/", std::string(kOnceFile)))) {
  MakeDirectories(state).IgnoreError();  // the first use says why it is not there
}

absl::StatusOr<HttpResponse> StoredAnswers::Once(const HttpRequest& request, const Asking& ask) {
  HEFT_ASSIGN_OR_RETURN(const std::string key, IdempotencyKeyOf(request));
  if (key.empty()) return ask();
  const Hash name = HashBytes(AsBytes(absl::StrCat(request.who.name, "\n", key)));
  const Hash what = WhatIsAsked(request);
  OnceTable::Entry entry = {.key = {name.begin(), name.end()},
                            .digest = {what.begin(), what.end()}};
  const auto turn = turns_.Take(entry.key, request.deadline);
  if (turn == nullptr) {
    return absl::UnavailableError("the same request is in progress: try again later");
  }
  const uint64_t now = UnixTime();
  for (OnceTable* const table : {table_.get(), &of_tasks_}) {
    HEFT_ASSIGN_OR_RETURN(const auto found, table->Find(kAnswers, entry.key, now));
    if (!found) continue;
    if (found->digest == entry.digest) return ReadAnswer(found->result);
    return absl::AlreadyExistsError(
        "Idempotency-Key: already used by another request: use a new one");
  }
  absl::StatusOr<HttpResponse> answer = ask();
  if (!answer.ok() || answer->status >= 400 || answer->body.size() > kLongest) return answer;
  entry.result = WriteAnswer(*answer);
  entry.expires = now + kLife;
  OnceTable& table = answer->status == kAccepted ? of_tasks_ : *table_;
  if (const absl::Status kept = table.Put(kAnswers, entry, now); !kept.ok()) {
    LogLine(LogLevel::kWarning, "an answer could not be stored", {{"why", Message(kept)}});
  }
  return answer;
}

}  // namespace heft::service
