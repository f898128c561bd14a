// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/keygen.h"

#include "base/threads.h"
#include "fusion/key_files.h"

namespace heft {

absl::StatusOr<std::vector<uint8_t>> MakeEvaluationKeys(
    const Instance& instance, const ckks::SecretKey& secret,
    const std::function<bool(size_t, size_t)>& progress) {
  const ckks::Context& context = *instance.context;
  const KeyNeeds& needs = instance.plan.keys;
  std::vector<std::pair<uint32_t, size_t>> wanted = {{1, needs.relinearisation_limbs}};
  wanted.insert(wanted.end(), needs.galois_keys.begin(), needs.galois_keys.end());
  EvaluationKeysWriter writer(context, secret.key_id(), wanted.size());
  constexpr size_t kChunk = 8;
  for (size_t start = 0; start < wanted.size(); start += kChunk) {
    const size_t count = std::min(kChunk, wanted.size() - start);
    std::vector<ckks::SeededSwitchKey> keys(count);
    std::vector<Csprng> rngs(count);  // made in order, so that tests can fix which key gets which
    ParallelFor(count, [&](size_t i) {
      Csprng& rng = rngs[i];
      const auto [element, limbs] = wanted[start + i];
      keys[i] = element == 1 ? ckks::MakeRelinearisationKey(context, secret, limbs, rng)
                             : ckks::MakeGaloisKey(context, secret, element, limbs, rng);
    });
    for (size_t i = 0; i < count; ++i) writer.Add(wanted[start + i].first, keys[i]);
    if (progress && !progress(start + count, wanted.size())) {
      return absl::CancelledError("interrupted");
    }
  }
  return writer.Finish();
}

}  // namespace heft
