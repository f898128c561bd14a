// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/exchange.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "heft/base.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

// Rounds of one RenewAll: a renewal takes up to 64 blocks, so no gallery needs more rounds.
constexpr int kMaxRounds = 1 << 16;
// Heads of one gallery that wait to be kept; of more, the oldest are dropped.
constexpr size_t kMaxHeads = 64;

}  // namespace

Exchange::Exchange(const CurrentEngine* engine, Galleries* galleries,
                   std::shared_ptr<Decider> decider, ExchangeOptions options, AuditLog* audit_log,
                   Metrics* metrics)
    : engine_(engine),
      galleries_(galleries),
      decider_(std::move(decider)),
      options_(options),
      audit_log_(audit_log),
      metrics_(metrics) {
  metrics_->Counter("heft_pending_decided_total",
                    "Pending templates that were decided, by verdict");
  metrics_->Counter("heft_exchange_failures_total", "Requests to the decider that failed");
  if (decider_ != nullptr) thread_ = std::thread([this] { Run(); });
}

Exchange::~Exchange() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

void Exchange::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  changed_.notify_all();
}

void Exchange::Wake() {
  {
    const std::lock_guard lock(mutex_);
    awake_ = true;
  }
  woken_.notify_all();
}

uint64_t Exchange::Changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

void Exchange::WaitForChange(uint64_t seen, std::chrono::steady_clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return stopping_ || changes_ > seen; });
}

Forwarded Exchange::ForwardedFor(const std::string& gallery) const {
  return {gallery, NewRequestId(), {}, std::chrono::steady_clock::now() + options_.patience};
}

void Exchange::Remember(const std::string& gallery) {
  const auto address = galleries_->Address(gallery);
  const absl::Status done = address.ok() ? RememberGeneration(*address) : address.status();
  if (done.ok()) return;
  LogLine(
      LogLevel::kWarning,
      "the generation of a gallery could not be recorded, so a restore cannot detect an older copy",
      {{"gallery", gallery}, {"why", std::string(done.message())}});
}

absl::StatusOr<std::vector<uint8_t>> Exchange::Request(const std::string& gallery) {
  HEFT_ASSIGN_OR_RETURN(const std::string address, galleries_->Address(gallery));
  const auto engine = engine_->Get();
  return galleries_->DeskOf(*engine).Pending(address, options_.most);
}

absl::StatusOr<ActivateResult> Exchange::Apply(const std::string& gallery,
                                               std::span<const uint8_t> admission,
                                               const std::string& request_id) {
  HEFT_ASSIGN_OR_RETURN(const std::string address, galleries_->Address(gallery));
  const auto engine = engine_->Get();
  HEFT_ASSIGN_OR_RETURN(const ActivateResult done,
                        Desk(*engine).Activate(address, admission, "admission"));
  if (!done.overwritten.ok()) {
    const std::lock_guard lock(mutex_);
    owed_.insert(gallery);
  }
  for (const auto& [what, why] : {std::pair("could not be overwritten yet", done.overwritten),
                                  std::pair("could not be kept for audits", done.kept)}) {
    if (why.ok()) continue;
    LogLine(LogLevel::kWarning,
            absl::StrCat("an admission is committed, but its rejected templates, or the signed "
                         "state, ",
                         what),
            {{"gallery", gallery}, {"why", std::string(why.message())}});
  }
  for (const Digest& entry : done.damaged) {
    LogLine(LogLevel::kError,
            "a pending enrolment is damaged: remove it with DELETE "
            "/v1/galleries/GALLERY/pending/ENTRY",
            {{"gallery", gallery}, {"entry", HexString(entry)}});
  }
  if (done.activated + done.rejected > 0) {
    metrics_->Add("heft_pending_decided_total", {{"verdict", "activated"}},
                  static_cast<double>(done.activated));
    metrics_->Add("heft_pending_decided_total", {{"verdict", "rejected"}},
                  static_cast<double>(done.rejected));
    const absl::Status logged = audit_log_->Append({{"event", "admission"},
                                                    {"request", request_id},
                                                    {"gallery", gallery},
                                                    {"activated", done.activated},
                                                    {"rejected", done.rejected}});
    if (!logged.ok()) {
      LogLine(LogLevel::kError, "an admission took place but could not be written to the audit log",
              {{"gallery", gallery}, {"why", std::string(logged.message())}});
    }
  }
  Remember(gallery);
  {
    const std::lock_guard lock(mutex_);
    changes_ += done.activated + done.rejected;
  }
  changed_.notify_all();
  return done;
}

bool Exchange::TakeOwed(const std::string& gallery) {
  const std::lock_guard lock(mutex_);
  return owed_.erase(gallery) > 0;
}

absl::StatusOr<bool> Exchange::Activate(const std::string& gallery) {
  HEFT_ASSIGN_OR_RETURN(const std::string address, galleries_->Address(gallery));
  HEFT_ASSIGN_OR_RETURN(const auto waiting, PendingEnrolments(address));
  uint64_t generation = 0;
  {
    HEFT_ASSIGN_OR_RETURN(const Gallery newest, galleries_->Newest(gallery));
    generation = newest.generation();
  }
  {
    const std::lock_guard lock(mutex_);
    const auto known = signed_.find(gallery);
    if (waiting.empty() && known != signed_.end() && known->second == generation) return false;
  }
  const Forwarded forwarded = ForwardedFor(gallery);
  asked_as_ = forwarded.request_id;
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> request, Request(gallery));
  HEFT_ASSIGN_OR_RETURN(const auto admission, decider_->Approve(request, forwarded));
  if (!admission) return false;
  HEFT_ASSIGN_OR_RETURN(const ActivateResult done,
                        Apply(gallery, *admission, forwarded.request_id));
  HEFT_ASSIGN_OR_RETURN(const Gallery newest, galleries_->Newest(gallery));
  const std::lock_guard lock(mutex_);
  // The admission changed the gallery, so its new state has yet to be signed.
  if (done.activated + done.rejected > 0) {
    signed_.erase(gallery);
    return true;
  }
  signed_[gallery] = newest.generation();
  return false;
}

void Exchange::ActivateAll() {
  const auto names = galleries_->Names();
  if (!names.ok()) return;
  for (const std::string& gallery : *names) {
    absl::StatusOr<bool> more = true;
    while (more.ok() && *more) {
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
      }
      more = Activate(gallery);
    }
    const std::lock_guard lock(mutex_);
    std::string& before = failed_[gallery];
    const std::string why(more.status().message());
    if (!more.ok()) metrics_->Add("heft_exchange_failures_total", {});
    if (!more.ok() && why != before) {
      LogLine(LogLevel::kWarning, "a request to the decider failed and will be repeated",
              {{"request", asked_as_}, {"gallery", gallery}, {"why", why}});
    }
    before = why;
  }
}

void Exchange::TakeHead(const std::string& gallery, std::vector<uint8_t> head) {
  if (head.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    auto& waiting = heads_[gallery];
    if (waiting.size() == kMaxHeads) waiting.erase(waiting.begin());
    waiting.push_back(std::move(head));
  }
  woken_.notify_all();
}

void Exchange::KeepHead(const std::string& gallery, const std::vector<uint8_t>& head) {
  const auto address = galleries_->Address(gallery);
  const auto kept = address.ok() ? engine_->Get()->TakeHead(*address, head, "the decider's journal")
                                 : absl::StatusOr<bool>(address.status());
  const std::string why(kept.status().message());
  {
    const std::lock_guard lock(mutex_);
    std::string& before = failed_["the journal's head for " + gallery];
    if (kept.ok()) before.clear();
    if (kept.ok() || before == why) return;
    before = why;
  }
  LogLine(LogLevel::kError, "the end of the key owner's journal could not be kept",
          {{"gallery", gallery}, {"why", why}});
  if (!absl::IsFailedPrecondition(kept.status())) return;
  const absl::Status logged =
      audit_log_->Append({{"event", "journal-refused"}, {"gallery", gallery}, {"why", why}});
  if (!logged.ok()) {
    LogLine(LogLevel::kError, "a fork of the key owner's journal is not in the audit log",
            {{"gallery", gallery}, {"why", std::string(logged.message())}});
  }
}

void Exchange::KeepHeads() {
  decltype(heads_) heads;
  {
    const std::lock_guard lock(mutex_);
    heads.swap(heads_);
  }
  for (const auto& [gallery, files] : heads) {
    // The last one first: then most of the others are known and cost no commit.
    for (auto file = files.rbegin(); file != files.rend(); ++file) KeepHead(gallery, *file);
  }
}

void Exchange::Run() {
  if (const absl::Status gave = GiveWay(); !gave.ok()) {
    LogLine(LogLevel::kWarning, "admissions do not yield to probes",
            {{"why", std::string(gave.message())}});
  }
  auto poll_at = std::chrono::steady_clock::now();
  while (true) {
    bool activate = false;
    {
      std::unique_lock lock(mutex_);
      woken_.wait_until(lock, poll_at, [&] { return stopping_ || awake_ || !heads_.empty(); });
      if (stopping_) return;
      activate = awake_ || std::chrono::steady_clock::now() >= poll_at;
      awake_ = false;
    }
    KeepHeads();
    if (!activate) continue;
    ActivateAll();
    poll_at = std::chrono::steady_clock::now() + options_.poll;
  }
}

absl::StatusOr<std::vector<uint8_t>> Exchange::AskRenewal(const std::string& gallery, bool compact,
                                                          const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const std::string address, galleries_->Address(gallery));
  const auto engine = engine_->Get();
  return galleries_->DeskOf(*engine).AskRenewal(address, {.compact = compact}, {}, monitor);
}

absl::StatusOr<RenewResult> Exchange::FinishRenewal(const std::string& gallery,
                                                    std::span<const uint8_t> answer) {
  HEFT_ASSIGN_OR_RETURN(const std::string address, galleries_->Address(gallery));
  const auto engine = engine_->Get();
  HEFT_ASSIGN_OR_RETURN(RenewResult done, Desk(*engine).Renew(address, answer, "renewal"));
  Remember(gallery);
  Wake();  // another state, to be signed
  return done;
}

absl::StatusOr<RenewResult> Exchange::RenewAll(const std::string& gallery, bool compact,
                                               const Monitor& monitor) {
  if (decider_ == nullptr) {
    return absl::FailedPreconditionError(
        "no decider is configured ([decider] url): transfer the request and its answer by hand");
  }
  RenewResult all;
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::lock_guard alone(renewing_);
    const auto request = AskRenewal(gallery, compact, monitor);
    if (absl::IsNotFound(request.status())) break;  // nothing is left to renew
    HEFT_RETURN_IF_ERROR(request.status());
    const Forwarded forwarded = ForwardedFor(gallery);
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> answer, decider_->Renew(*request, forwarded));
    HEFT_ASSIGN_OR_RETURN(RenewResult done, FinishRenewal(gallery, answer));
    LogLine(LogLevel::kInfo, "blocks were renewed",
            {{"request", forwarded.request_id}, {"gallery", gallery}, {"blocks", done.blocks}});
    all.blocks += done.blocks;
    all.freed += done.freed;
    all.moved += done.moved;
    all.erased += done.erased;
    all.leaving = done.leaving;
    all.generation = done.generation;
    all.overwritten = done.overwritten;
    std::ranges::move(done.receipts, std::back_inserter(all.receipts));
    if (done.blocks + done.freed == 0 || (done.leaving == 0 && !compact)) break;
  }
  return all;
}

}  // namespace heft::service
