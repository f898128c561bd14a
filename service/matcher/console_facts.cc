// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/console_facts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "heft/gallery_admin.h"
#include "heft/inspect.h"
#include "service/json.h"

namespace heft::service {
namespace {

constexpr uint64_t kDay = 86400;

std::vector<GalleryInfo> DescribeAll(MatcherState* state) {
  std::vector<GalleryInfo> out;
  const auto names = state->galleries.Names();
  if (!names.ok()) return out;
  for (const std::string& name : *names) {
    const auto address = state->galleries.Address(name);
    if (!address.ok()) continue;
    auto info = DescribeGallery(*address);
    if (info.ok()) out.push_back(*std::move(info));
  }
  return out;
}

std::string DaysText(uint64_t days) { return absl::StrCat(days, days == 1 ? " day" : " days"); }

Json Fact(const char* label, std::string value, std::string note, bool warning) {
  return {{"label", label},
          {"value", std::move(value)},
          {"note", std::move(note)},
          {"warning", warning}};
}

}  // namespace

Json MatcherFacts(MatcherState* state, bool decider_away) {
  uint64_t templates = 0, pending = 0, leaving = 0, bytes = 0, since = 0;
  bool damaged = false;
  const std::vector<GalleryInfo> galleries = DescribeAll(state);
  for (const GalleryInfo& info : galleries) {
    templates += info.templates;
    pending += info.pending;
    leaving += info.leaving;
    bytes = info.store_bytes;
    since = since == 0 ? info.key_since : std::min(since, info.key_since);
    damaged = damaged || info.intact == std::optional(false);
  }
  const uint64_t now = UnixTime();
  const auto engine = state->engine.Get();
  Json facts = Json::array();
  facts.push_back(
      Fact("Templates", absl::StrCat(templates),
           absl::StrCat(galleries.size(), galleries.size() == 1 ? " gallery" : " galleries",
                        damaged ? ", one is damaged" : ""),
           damaged));
  facts.push_back(Fact("Pending", absl::StrCat(pending),
                       absl::StrCat(leaving, leaving == 1 ? " is leaving" : " are leaving"),
                       false));
  facts.push_back(Fact("Store", HumanBytes(static_cast<double>(bytes)), "on disk", false));
  facts.push_back(Fact("Key age", DaysText((now - std::min(now, since)) / kDay),
                       HexString(engine->key_id).substr(0, 12), false));
  facts.push_back(
      Fact("Probes that wait", absl::StrCat(state->batcher.queued()), "for a pass", false));
  if (state->decider != nullptr) {
    facts.push_back(Fact("Decider", decider_away ? "away" : "answers",
                         decider_away ? "decisions and admissions wait" : "", decider_away));
  }
  return facts;
}

void DescribeGalleriesIn(MatcherState* state) {
  Metrics* const metrics = state->metrics;
  metrics->Gauge("heft_gallery_templates",
                 "Templates of a gallery that are active or have expired");
  metrics->Gauge("heft_gallery_pending", "Pending templates of a gallery");
  metrics->Gauge("heft_gallery_leaving", "Templates of a gallery that wait for a renewal");
  metrics->Gauge("heft_gallery_generation", "Changes of a gallery");
  metrics->Gauge("heft_gallery_key_since_seconds", "Unix time since which a gallery has its key");
  metrics->Gauge("heft_store_bytes", "Bytes of the store on disk");
  metrics->BeforeReading([state, metrics] {
    for (const GalleryInfo& info : DescribeAll(state)) {
      const MetricLabels labels = {{"gallery", info.name}};
      metrics->Set("heft_gallery_templates", labels, static_cast<double>(info.templates));
      metrics->Set("heft_gallery_pending", labels, static_cast<double>(info.pending));
      metrics->Set("heft_gallery_leaving", labels, static_cast<double>(info.leaving));
      metrics->Set("heft_gallery_generation", labels, static_cast<double>(info.generation));
      metrics->Set("heft_gallery_key_since_seconds", labels, static_cast<double>(info.key_since));
      metrics->Set("heft_store_bytes", {}, static_cast<double>(info.store_bytes));
    }
  });
}

}  // namespace heft::service
