// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/key_share.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/passphrase.h"
#include "ckks/packed_bits.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"

namespace heft {
namespace {

constexpr uint32_t kShareVersion = 1;
constexpr size_t kMaxCeremonyBytes = 1 << 16;

size_t PackedShareSize(const ckks::Context& context) {
  size_t size = 0;
  for (size_t i = 0; i <= context.special_index(); ++i) {
    size += ckks::PackedSize(context.n(), context.modulus(i).bits());
  }
  return size;
}

size_t PackedSharesSize(const Rings& rings) {
  return PackedShareSize(*rings.enrolment.context) + PackedShareSize(*rings.matching.context);
}

// The owner's number, its own secret, and the residues of both rings, packed.
size_t SecretBytes(const Rings& rings) { return 1 + kOwnSecretSize + PackedSharesSize(rings); }

uint8_t* PackShare(const ckks::Context& context, const ckks::SecretShare& share, uint8_t* out) {
  for (size_t i = 0; i < share.primes(); ++i) {
    const int bits = context.modulus(i).bits();
    const size_t size = ckks::PackedSize(context.n(), bits);
    ckks::PackBits(share.residues(i), bits, {out, size});
    out += size;
  }
  return out;
}

// Every residue must be below its prime; false if one is not.
bool UnpackShare(const ckks::Context& context, ByteSpan packed, ckks::SecretShare* out) {
  bool good = true;
  for (size_t i = 0; i < out->primes(); ++i) {
    const ring::Modulus& q = context.modulus(i);
    const size_t size = ckks::PackedSize(context.n(), q.bits());
    ckks::UnpackBits(packed.first(size), q.bits(), out->residues(i));
    for (const uint32_t r : out->residues(i)) good &= r < q.value();
    packed = packed.subspan(size);
  }
  return good;
}

absl::StatusOr<SecureVector<uint8_t>> SecretOf(const Rings& rings, const KeyShare& share) {
  HEFT_ASSIGN_OR_RETURN(auto out, SecureVector<uint8_t>::Create(SecretBytes(rings)));
  uint8_t* at = out.data();
  *at++ = static_cast<uint8_t>(share.owner());
  at = std::copy_n(share.own.data(), kOwnSecretSize, at);
  HEFT_ASSIGN_OR_RETURN(const auto packed, PackShares(rings, share.enrolment, share.matching));
  std::copy_n(packed.data(), packed.size(), at);
  return out;
}

struct ShareHeader {
  ckks::ParamsId params_id{};
  ckks::KeyId key_id{};
  ByteSpan ceremony;
  bool sealed = false;
};

ShareHeader ReadShareHeader(ByteReader& reader) {
  ShareHeader header;
  header.params_id = ckks::ReadId(reader);
  header.key_id = ckks::ReadId(reader);
  header.ceremony = reader.Raw(reader.Count(1, kMaxCeremonyBytes));
  header.sealed = SecretIsSealed(reader);
  return header;
}

}  // namespace

absl::StatusOr<SecureVector<uint8_t>> NewOwnSecret() {
  HEFT_ASSIGN_OR_RETURN(auto own, SecureVector<uint8_t>::Create(kOwnSecretSize));
  Csprng().Fill(own.span());
  return own;
}

absl::StatusOr<std::vector<KeyShare>> ShareKeys(const Rings& rings, const SecretKeys& keys,
                                                const ckks::Sharing& sharing, Csprng& rng) {
  if (!rings.thin() || !keys.small) {
    return absl::FailedPreconditionError(
        "a shared key needs a model of profile flooded: heft train --profile flooded");
  }
  HEFT_ASSIGN_OR_RETURN(auto large,
                        ckks::ShareSecret(*rings.enrolment.context, keys.enrolment, sharing, rng));
  HEFT_ASSIGN_OR_RETURN(auto small,
                        ckks::ShareSecret(*rings.matching.context, keys.matching(), sharing, rng));
  std::vector<KeyShare> out;
  for (size_t i = 0; i < large.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(auto own, NewOwnSecret());
    out.push_back({keys.key_id(), {}, std::move(own), std::move(large[i]), std::move(small[i])});
  }
  return out;
}

absl::StatusOr<SecureVector<uint8_t>> PackShares(const Rings& rings,
                                                 const ckks::SecretShare& enrolment,
                                                 const ckks::SecretShare& matching) {
  HEFT_ASSIGN_OR_RETURN(auto out, SecureVector<uint8_t>::Create(PackedSharesSize(rings)));
  PackShare(*rings.matching.context, matching,
            PackShare(*rings.enrolment.context, enrolment, out.data()));
  return out;
}

absl::Status UnpackShares(const Rings& rings, ByteSpan packed, ckks::SecretShare* enrolment,
                          ckks::SecretShare* matching) {
  const size_t first = PackedShareSize(*rings.enrolment.context);
  if (packed.size() == PackedSharesSize(rings) &&
      UnpackShare(*rings.enrolment.context, packed.first(first), enrolment) &&
      UnpackShare(*rings.matching.context, packed.subspan(first), matching)) {
    return absl::OkStatus();
  }
  return absl::DataLossError("not a share of a secret key");
}

absl::StatusOr<Hash> ShareDigest(const Rings& rings, const KeyShare& share) {
  HEFT_ASSIGN_OR_RETURN(const auto secret, SecretOf(rings, share));
  return HashBytes(secret.span());
}

absl::StatusOr<std::vector<uint8_t>> SerializeKeyShare(const Rings& rings, const KeyShare& share,
                                                       std::span<const char> passphrase) {
  HEFT_ASSIGN_OR_RETURN(const auto secret, SecretOf(rings, share));
  ByteWriter writer;
  writer.Reserve(secret.size() + share.ceremony.size() + 1024);
  ckks::WriteId(writer, rings.enrolment.params().id());
  ckks::WriteId(writer, share.key_id);
  writer.U64(share.ceremony.size());
  writer.Raw(share.ceremony);
  const absl::Status written = WriteSecret(&writer, secret.span(), passphrase);
  std::vector<uint8_t> payload = writer.Take();
  std::vector<uint8_t> file;
  if (written.ok()) file = SealEnvelope(kKeyShareKind, kShareVersion, payload);
  SecureWipe(payload.data(), payload.size());
  HEFT_RETURN_IF_ERROR(written);
  return file;
}

absl::StatusOr<bool> KeyShareIsSealed(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kKeyShareKind, kShareVersion, what));
  ByteReader reader(payload, what);
  const ShareHeader header = ReadShareHeader(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  return header.sealed;
}

absl::StatusOr<KeyShare> ParseKeyShare(const Rings& rings, ByteSpan bytes,
                                       std::span<const char> passphrase, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kKeyShareKind, kShareVersion, what));
  ByteReader reader(payload, what);
  const ShareHeader header = ReadShareHeader(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(rings.enrolment.params(), header.params_id, what));
  HEFT_ASSIGN_OR_RETURN(auto secret, SecureVector<uint8_t>::Create(SecretBytes(rings)));
  HEFT_RETURN_IF_ERROR(ReadSecret(reader, payload, header.sealed, passphrase, what, secret.span()));
  const uint32_t owner = secret[0];
  HEFT_ASSIGN_OR_RETURN(auto own, SecureVector<uint8_t>::Create(kOwnSecretSize));
  std::copy_n(secret.data() + 1, kOwnSecretSize, own.data());
  HEFT_ASSIGN_OR_RETURN(auto large, ckks::SecretShare::Create(*rings.enrolment.context, owner));
  HEFT_ASSIGN_OR_RETURN(auto small, ckks::SecretShare::Create(*rings.matching.context, owner));
  const ByteSpan packed = ByteSpan(secret.span()).subspan(1 + kOwnSecretSize);
  if (!UnpackShares(rings, packed, &large, &small).ok() || owner < 1 || owner > ckks::kMaxOwners) {
    return absl::DataLossError(absl::StrCat(std::string(what), ": not a share of a secret key"));
  }
  KeyShare share = {header.key_id, {}, std::move(own), std::move(large), std::move(small)};
  share.ceremony.assign(header.ceremony.begin(), header.ceremony.end());
  return share;
}

}  // namespace heft
