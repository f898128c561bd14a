// SPDX-License-Identifier: Apache-2.0
#include "bench/bulk.h"

#include "base/threads.h"
#include "fusion/bulk.h"

namespace heft::bench {

using experiment::Roles;

absl::Status Step(const Progress& progress, std::string_view what) {
  return progress.Update(0, 1, what) ? absl::OkStatus() : absl::CancelledError("interrupted");
}

absl::StatusOr<BulkColumns> EncryptBulk(const Roles& roles, std::mt19937_64& random,
                                        const Progress& progress) {
  BulkColumns columns(roles.model().modalities.size());
  for (size_t m = 0; m < columns.size(); ++m) {
    HEFT_RETURN_IF_ERROR(Step(progress, "encrypting a bulk batch"));
    const uint32_t dimension = roles.model().modalities[m].dimension;
    experiment::Vectors rows;
    for (size_t i = 0; i < roles.enrolment().params().slots(); ++i) {
      rows.push_back(experiment::RandomUnit(dimension, random));
    }
    HEFT_ASSIGN_OR_RETURN(const SimdColumns simd,
                          SimdColumns::Create(roles.rings().enrolment, roles.model(), m, rows));
    columns[m].resize(dimension);
    HEFT_RETURN_IF_ERROR(TryParallelFor(dimension, [&](size_t d) -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(const ckks::Plaintext plain, simd.Encode(roles.rings().enrolment, d));
      columns[m][d] = roles.enrolment().Encrypt(plain);
      return absl::OkStatus();
    }));
  }
  return columns;
}

absl::Status EnrolBulk(const Roles& roles, const BulkColumns& columns) {
  const Rings& rings = roles.rings();
  // A fuser holds the sums of one batch.
  HEFT_ASSIGN_OR_RETURN(
      BulkFuser bulk, BulkFuser::Create(rings.enrolment, roles.model(), &roles.enrolment().keys()));
  for (size_t m = 0; m < columns.size(); ++m) {
    HEFT_RETURN_IF_ERROR(bulk.Add(m, 0, columns[m]));
  }
  const uint32_t count = rings.enrolment.params().slots(), slots = roles.params().slots();
  HEFT_ASSIGN_OR_RETURN(TemplateBatch batch, bulk.Finish(count));
  HEFT_RETURN_IF_ERROR(SplitBatch(rings, roles.ring_switch(), &batch));
  TiledCiphertexts block = EmptyBlock(roles.context(), roles.model().gamma);
  for (uint32_t first = 0, lane = 0; first < count; first += slots, ++lane) {
    HEFT_RETURN_IF_ERROR(AddBatchToBlock(roles.instance(), &block, batch, first,
                                         std::min(slots, count - first), lane, roles.keys()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TiledCiphertexts>> RandomGallery(const Instance& instance,
                                                            size_t templates,
                                                            const Progress& progress) {
  const ckks::Context& context = *instance.context;
  const size_t per_block = 2 * size_t{instance.params().slots()};
  std::vector<TiledCiphertexts> gallery((templates + per_block - 1) / per_block);
  const size_t limbs = MatchLimbs(context.params());
  for (size_t b = 0; b < gallery.size(); ++b) {
    HEFT_RETURN_IF_ERROR(Step(progress, "filling a large gallery"));
    gallery[b].resize(TiledSize(context, instance.plan.gamma));
    const size_t per_limb = gallery[b].size() / limbs;
    for (size_t l = 0; l < limbs; ++l) {
      const uint32_t q = context.modulus(l).value();
      uint32_t x = static_cast<uint32_t>(b * limbs + l + 1);
      for (size_t i = 0; i < per_limb; ++i) {
        x = x * 1664525u + 1013904223u;
        gallery[b][l * per_limb + i] = static_cast<uint32_t>((uint64_t{x} * q) >> 32);
      }
    }
  }
  return gallery;
}

}  // namespace heft::bench
