// SPDX-License-Identifier: Apache-2.0
// Scores of people who are enrolled or probed with several samples, computed under encryption by
// the library's roles in one process (experiment/encrypted_scores.h says what that means).
#ifndef HEFT_EXPERIMENT_ENCRYPTED_SAMPLES_H_
#define HEFT_EXPERIMENT_ENCRYPTED_SAMPLES_H_

#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "evaluation/comparisons.h"
#include "experiment/sample_draws.h"
#include "features/dataset.h"
#include "heft/model.h"

namespace heft::experiment {

// EncryptedSamples: of each way the comparisons of all draws, in the order of AddComparisons, and
// what it cost.
struct EncryptedSamples {
  std::vector<Comparisons> scores;  // by way
  std::vector<double> enrol_ms;     // by way: of the server, a person, median
  double sample_bytes = 0;          // of one sample of all modalities, to enrol
  double template_bytes = 0;        // of one template in a full block
};

// AddComparisons: every probe of `draw` with every person in it: score(probe, person) is asked for
// probe numbers p of person a: all single probes, or the one mean of way.probe.
template <typename Score>
void AddComparisons(size_t people, const SampleWay& way, int probes, Score score,
                    Comparisons* out) {
  const int asked = way.probe == 1 ? probes : 1;
  for (size_t a = 0; a < people; ++a) {
    for (int p = 0; p < asked; ++p) {
      for (size_t b = 0; b < people; ++b) {
        out->Add(score(a, p, b), static_cast<int>(a), static_cast<int>(b));
      }
    }
  }
}

// ScoreSamples: each sample is encrypted once; sums of several are made, fused, enrolled and
// matched as a server does. The people of all draws are the same. kCancelled.
absl::StatusOr<EncryptedSamples> ScoreSamples(const Monitor& monitor, const Model& model,
                                              const Dataset& dataset,
                                              const std::vector<DrawnPeople>& draws,
                                              const std::vector<SampleWay>& ways);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_ENCRYPTED_SAMPLES_H_
