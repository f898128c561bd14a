// SPDX-License-Identifier: Apache-2.0
#include "fusion/rekey.h"

#include <cmath>

#include "base/envelope.h"
#include "base/signed_file.h"
#include "base/threads.h"
#include "ckks/digits.h"
#include "ckks/serialization.h"
#include "fusion/block_internal.h"
#include "fusion/errors.h"
#include "fusion/key_files.h"

namespace heft {
namespace {
constexpr uint32_t kRekeyVersion = 1;
}  // namespace

std::vector<uint8_t> SerializeRekeyingKey(const ckks::Context& context, const ckks::KeyId& from,
                                          const ckks::KeyId& to, const ckks::SeededSwitchKey& key) {
  ByteWriter writer;
  ckks::WriteId(writer, context.params().id());
  ckks::WriteId(writer, from);
  ckks::WriteId(writer, to);
  ckks::WriteSwitchKey(writer, context, key);
  return SealEnvelope(kRekeyingKeyKind, kRekeyVersion, writer.bytes());
}

absl::StatusOr<RekeyingKey> ParseRekeyingKey(const ckks::Context& context, ByteSpan bytes,
                                             std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(bytes, Unsigned(bytes, what));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kRekeyingKeyKind, kRekeyVersion, what));
  ByteReader reader(payload, what);
  const ckks::ParamsId params_id = ckks::ReadId(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(context.params(), params_id, what));
  RekeyingKey out;
  out.from = ckks::ReadId(reader);
  out.to = ckks::ReadId(reader);
  if (out.from == out.to) reader.Fail("leads from a key to itself");
  const ckks::SeededSwitchKey seeded = ckks::ReadSwitchKey(reader, context);
  if (seeded.limbs < MatchLimbs(context.params()))
    reader.Fail("serves fewer limbs than a gallery has");
  HEFT_RETURN_IF_ERROR(reader.Finish());
  out.key = ckks::SwitchKey(context, seeded, 1);
  return out;
}

absl::Status RekeyBlock(const Instance& instance, TiledCiphertexts* block,
                        const ckks::SwitchKey& key) {
  const ckks::Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma;
  const size_t n = context.n(), limbs = MatchLimbs(context.params());
  HEFT_RETURN_IF_ERROR(internal::CheckTiles(instance, *block, "a gallery block"));
  if (key.limbs() < limbs) {
    return absl::InvalidArgumentError("a re-keying key for fewer limbs than a block has");
  }
  ParallelFor(gamma, [&](size_t k) {
    std::vector<ring::RnsPoly> parts =
        internal::LoadTiled(context, gamma, static_cast<uint32_t>(k), *block);
    const ckks::Digits digits(context, parts[1]);
    ckks::SwitchSum sum(n, limbs);
    for (size_t l = 0; l <= limbs; ++l) {
      ckks::SwitchLimb(context, sum.part[0].limb(l).data(), sum.part[1].limb(l).data(), digits, key,
                       l);
    }
    const ring::RnsPoly* const plain[2] = {&parts[0], nullptr};
    parts = ckks::CloseSwitch(context, sum, plain, /*rescale=*/false);
    internal::StoreTiled(context, gamma, static_cast<uint32_t>(k), parts, block);
  });
  return absl::OkStatus();
}

double RekeyScoreError(const Instance& instance) {
  return std::sqrt(RekeyVariance(instance.params(), instance.plan));
}

}  // namespace heft
