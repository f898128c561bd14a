// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/upkeep.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/base.h"
#include "heft/gallery_admin.h"
#include "heft/trust.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

constexpr std::chrono::milliseconds kLongestPause{300000};
constexpr char kFailures[] = "heft_upkeep_failures_total";

// Expired: whether a template has expired. Checked first, because RemoveExpired always makes a
// change.
absl::StatusOr<bool> Expired(const std::string& address) {
  const uint64_t now = UnixTime();
  bool found = false;
  const auto listed = ListTemplates(address, {}, [&](const ListedTemplate& t) -> absl::Status {
    found = t.expires != 0 && t.expires <= now;
    return found ? absl::OutOfRangeError("one is enough") : absl::OkStatus();
  });
  if (!found) HEFT_RETURN_IF_ERROR(listed.status());
  return found;
}

}  // namespace

void ShowDamage(const std::string& name, const Gallery& gallery, Metrics* metrics) {
  metrics->Set("heft_damaged_blocks", {{"gallery", name}},
               static_cast<double>(DamagedBlocks(gallery).size()));
  metrics->Set("heft_damaged_records", {{"gallery", name}},
               static_cast<double>(DamagedRecords(gallery).size()));
}

Upkeep::Upkeep(const CurrentEngine* engine, Galleries* galleries, Exchange* exchange,
               UpkeepOptions options, AuditLog* audit_log, Metrics* metrics)
    : engine_(engine),
      galleries_(galleries),
      exchange_(exchange),
      options_(options),
      audit_log_(audit_log),
      metrics_(metrics) {
  metrics_->Gauge("heft_damaged_blocks",
                  "Blocks of a gallery that were found damaged and still are");
  metrics_->Gauge("heft_damaged_records",
                  "Other records of a gallery that were found damaged and still are");
  metrics_->Gauge("heft_leaving", "Templates of a gallery that wait for a renewal to be erased");
  metrics_->Counter(kFailures, "Erasures and renewals that failed; they are tried again");
  thread_ = std::thread([this] { Run(); });
}

Upkeep::~Upkeep() {
  Stop();
  thread_.join();
}

void Upkeep::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
}

bool Upkeep::Stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Upkeep::Owe(const std::string& gallery) {
  {
    const std::lock_guard lock(mutex_);
    owed_.insert(gallery);
  }
  woken_.notify_all();
}

absl::Status Upkeep::Sweep(const std::string& gallery, const std::string& address, Known* known) {
  HEFT_ASSIGN_OR_RETURN(const bool anybody, Expired(address));
  if (anybody) {
    HEFT_RETURN_IF_ERROR(
        audit_log_->Append({{"event", "intent"}, {"operation", "expire"}, {"gallery", gallery}}));
    HEFT_ASSIGN_OR_RETURN(const RemoveResult done, RemoveExpired(engine_->Get()->server, address));
    known->owed = known->owed || !done.overwritten.ok();
    LogLine(LogLevel::kInfo, "expired templates were removed",
            {{"gallery", gallery}, {"removed", done.removed}, {"leaving", done.leaving}});
    HEFT_RETURN_IF_ERROR(RememberGeneration(address));
    exchange_->Wake();
  }
  known->swept = Clock::now();
  return absl::OkStatus();
}

absl::Status Upkeep::RenewLeaving(const std::string& gallery, const std::string& address,
                                  Known* known) {
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, DescribeGallery(address));
  uint64_t leaving = info.leaving;
  if (leaving > 0 && exchange_->has_decider()) {
    const auto done = exchange_->RenewAll(gallery, /*compact=*/false,
                                          [this](const ProgressEvent&) { return !Stopping(); });
    HEFT_RETURN_IF_ERROR(done.status());
    known->owed = known->owed || !done->overwritten.ok();
    leaving = done->leaving;
  }
  metrics_->Set("heft_leaving", {{"gallery", gallery}}, static_cast<double>(leaving));
  // A generation that came meanwhile is not settled: the next round checks it.
  if (leaving == 0 || !exchange_->has_decider()) {
    known->settled = info.generation;
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(leaving, " templates still wait for a renewal"));
}

absl::Status Upkeep::Settle(const std::string& gallery, Known* known) {
  HEFT_ASSIGN_OR_RETURN(const std::string address, galleries_->Address(gallery));
  if (known->swept == Clock::time_point{} || Clock::now() - known->swept >= options_.sweep) {
    HEFT_RETURN_IF_ERROR(Sweep(gallery, address, known));
  }
  uint64_t generation = 0;
  {
    HEFT_ASSIGN_OR_RETURN(const Gallery newest, galleries_->Newest(gallery));
    generation = newest.generation();
  }
  if (generation != known->settled) HEFT_RETURN_IF_ERROR(RenewLeaving(gallery, address, known));
  known->owed = exchange_->TakeOwed(gallery) || known->owed;
  if (!known->owed) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(EraseRemains(address).status());
  known->owed = false;
  return absl::OkStatus();
}

void Upkeep::LookAfter(const std::string& gallery, Known* known) {
  if (const auto newest = galleries_->Newest(gallery); newest.ok()) {
    ShowDamage(gallery, *newest, metrics_);
  }
  if (Clock::now() < known->not_before) return;
  const absl::Status done = Settle(gallery, known);
  const std::string failure(done.message());
  if (done.ok()) {
    known->pause = std::chrono::milliseconds(0);
  } else {
    known->pause = std::clamp(2 * known->pause, options_.poll, kLongestPause);
    known->not_before = Clock::now() + known->pause;
    metrics_->Add(kFailures, {{"gallery", gallery}});
  }
  if (!done.ok() && failure != known->failure && !Stopping()) {
    LogLine(LogLevel::kWarning,
            "removed data could not be erased yet, or expired people not removed; this is repeated",
            {{"gallery", gallery}, {"why", failure}});
  }
  known->failure = failure;
}

void Upkeep::Run() {
  if (const absl::Status gave = GiveWay(); !gave.ok()) {
    LogLine(LogLevel::kWarning, "erasures do not yield to probes",
            {{"why", std::string(gave.message())}});
  }
  while (true) {
    std::set<std::string> owed;
    {
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, options_.poll, [&] { return stopping_ || !owed_.empty(); });
      if (stopping_) return;
      owed.swap(owed_);
    }
    const auto names = galleries_->Names();
    if (!names.ok()) continue;
    for (const std::string& gallery : *names) {
      if (Stopping()) return;
      Known& known = known_[gallery];
      known.owed = known.owed || owed.contains(gallery);
      LookAfter(gallery, &known);
    }
  }
}

}  // namespace heft::service
