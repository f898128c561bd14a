// SPDX-License-Identifier: Apache-2.0
#include "owner/opener.h"

#include "base/checksum.h"
#include "base/secure.h"

namespace heft {
namespace {

const Instance& InstanceOf(const Rings& rings, RingName ring) {
  return ring == RingName::kMatching ? rings.matching : rings.enrolment;
}

}  // namespace

absl::StatusOr<ckks::Plaintext> SecretKeyOpener::Open(RingName ring,
                                                      const ckks::Ciphertext& ciphertext,
                                                      const NoiseFlooding& flooding) const {
  const ckks::SecretKey& key = ring == RingName::kMatching ? keys_.matching() : keys_.enrolment;
  const ckks::Context& context = *InstanceOf(rings_, ring).context;
  if (flooding) return ckks::DecryptFlooded(context, ciphertext, key, *flooding);
  return ckks::Decrypt(context, ciphertext, key);
}

CiphertextName NameOf(RingName ring, const ckks::Ciphertext& ciphertext) {
  ByteWriter writer;
  writer.F64(ciphertext.scale);
  for (const ring::RnsPoly& part : ciphertext.parts) {
    writer.U64(part.limbs());
    const auto values = part.values();
    writer.U64(FastChecksum(
        {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(values[0])}));
  }
  return {ring, FastChecksum(writer.bytes())};
}

absl::StatusOr<PartialOpening> OpenPartially(const Rings& rings, const KeyShare& share,
                                             const ckks::OwnerSet& set, RingName ring,
                                             const ckks::Ciphertext& ciphertext,
                                             const NoiseFlooding& flooding) {
  if (!flooding) {
    return absl::FailedPreconditionError("a shared key opens nothing without noise flooding");
  }
  const ckks::SecretShare& own = ring == RingName::kMatching ? share.matching : share.enrolment;
  HEFT_ASSIGN_OR_RETURN(
      ring::RnsPoly part,
      ckks::PartiallyDecrypt(*InstanceOf(rings, ring).context, ciphertext, own, set, *flooding));
  return PartialOpening{NameOf(ring, ciphertext), std::move(part)};
}

absl::StatusOr<ckks::Plaintext> PartsOpener::Open(RingName ring, const ckks::Ciphertext& ciphertext,
                                                  const NoiseFlooding& flooding) const {
  HEFT_ASSIGN_OR_RETURN(PartialOpening own,
                        OpenPartially(rings_, share_, set_, ring, ciphertext, flooding));
  const auto others = parts_.find(own.ciphertext);
  if (others == parts_.end() || others->second.size() + 1 != set_.size()) {
    return absl::FailedPreconditionError(
        "a partial opening lacks one of the ciphertexts: ask its owner for another one, with the "
        "same files and options");
  }
  std::vector<ring::RnsPoly> parts = {std::move(own.part)};
  for (const auto& [owner, part] : others->second) parts.push_back(part);
  return ckks::CombineParts(*InstanceOf(rings_, ring).context, ciphertext, parts, *flooding);
}

}  // namespace heft
