// SPDX-License-Identifier: Apache-2.0
// Models (fusion/model.cc): an accepted model writes the same bytes again, can be shown, and is
// planned or refused without a crash.

#include "base/envelope.h"
#include "fusion/plan.h"
#include "fusion/profile.h"
#include "fuzz/fuzz.h"
#include "heft/files.h"
#include "heft/model.h"

namespace heft::fuzz {
namespace {

void Read(ByteSpan bytes) {
  const auto model = Model::Parse(bytes, "input");
  if (!model.ok()) return CheckRefusal(model.status());
  Check(model->Check().ok(), "a model that is read is valid");
  const std::vector<uint8_t> again = model->Serialize();
  Check(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
        "a model writes the bytes that it was read from");
  for (const DecisionTable& table : model->tables) {
    Check(model->TableFor(table.modalities).ok(), "each table is found by its set");
  }
  // As `heft inspect` shows it.
  const auto summary = Json::Parse(model->training_summary);
  Check(summary.ok() && !summary->dump(2).empty(), "the summary is printed");
  const auto profile = FindProfile(model->profile);
  if (!profile.ok()) return;
  static const auto params = *ckks::Params::Create(FindProfile("compact")->spec);
  const auto plan = PlanFusion(params, *profile, *model, TemplateLimbs(params));
  if (!plan.ok()) CheckRefusal(plan.status());
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heft::fuzz::ReadBothWays({data, size}, heft::fuzz::Read);
  return 0;
}
