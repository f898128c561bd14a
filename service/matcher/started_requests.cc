// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/started_requests.h"

#include "absl/strings/str_cat.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft::service {
namespace {

std::string Key(const Hash& what) { return {what.begin(), what.end()}; }

}  // namespace

StartedRequests::StartedRequests(const std::string& state, std::string_view what)
    : scope_{.name = what, .most_entries = kMax, .durable = true},
      table_(OnceTable::Of(absl::StrCat(state, "/", std::string(kOnceFile)))) {}

bool StartedRequests::Has(const Hash& what) const {
  const auto found = table_->Find(scope_, Key(what), UnixTime());
  return found.ok() && found->has_value();
}

absl::Status StartedRequests::Begin(const Hash& what) const {
  const uint64_t now = UnixTime();
  const absl::Status begun = table_->Put(
      scope_, {.key = Key(what), .expires = now + kLongestRequest + 2 * kClockSkew}, now);
  return absl::IsResourceExhausted(begun) ? absl::OkStatus() : begun;
}

void StartedRequests::End(const Hash& what) const {
  table_->Remove(scope_, Key(what)).IgnoreError();
}

}  // namespace heft::service
