// SPDX-License-Identifier: Apache-2.0
#include "owner/ceremony.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/envelope.h"
#include "ckks/serialization.h"

namespace heft {
namespace {

constexpr uint32_t kCeremonyVersion = 1;

void ReadDigest(ByteReader& reader, Digest* out) {
  const ByteSpan bytes = reader.Raw(out->size());
  if (reader.ok()) std::ranges::copy(bytes, out->begin());
}

}  // namespace

std::vector<uint8_t> Ceremony::Serialize() const {
  ByteWriter writer;
  ckks::WriteId(writer, key_id);
  ckks::WriteId(writer, model_id);
  writer.U32(threshold);
  writer.U32(renewal);
  for (const Digest& d : {previous, dealer, encryption_key, evaluation_keys, enrolment_keys}) {
    writer.Raw(d);
  }
  writer.U64(owners.size());
  for (const Owner& owner : owners) {
    writer.Raw(owner.signer);
    writer.Raw(owner.share);
  }
  return SealEnvelope(kCeremonyKind, kCeremonyVersion, writer.bytes());
}

absl::StatusOr<Ceremony> Ceremony::Parse(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kCeremonyKind, kCeremonyVersion, what));
  ByteReader reader(payload, what);
  Ceremony out;
  out.key_id = ckks::ReadId(reader);
  out.model_id = ckks::ReadId(reader);
  out.threshold = reader.U32();
  out.renewal = reader.U32();
  for (Digest* d : {&out.previous, &out.dealer, &out.encryption_key, &out.evaluation_keys,
                    &out.enrolment_keys}) {
    ReadDigest(reader, d);
  }
  out.owners.resize(reader.Count(sizeof(SignerKey) + sizeof(Digest), ckks::kMostOwners));
  for (Owner& owner : out.owners) {
    ReadDigest(reader, &owner.signer);
    ReadDigest(reader, &owner.share);
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  if (!ckks::CheckSharing(out.sharing()).ok()) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": a key that is shared in no possible way"));
  }
  return out;
}

absl::StatusOr<SignedCeremony> ReadCeremony(ByteSpan signed_bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(signed_bytes, what));
  SignedCeremony out;
  HEFT_ASSIGN_OR_RETURN(out.ceremony, Ceremony::Parse(file.file, what));
  out.digest = HashBytes(file.file);
  out.when = file.statement.issued;
  const Ceremony& ceremony = out.ceremony;
  const bool by_owner = ceremony.renewal > 0 && std::ranges::count(ceremony.owners, file.signer,
                                                                   &Ceremony::Owner::signer) > 0;
  if (file.statement.role == Role::kKeyOwner && (file.signer == ceremony.dealer || by_owner)) {
    return out;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      std::string(what), ": signed by another than the dealer of this key: a forged record"));
}

std::string OwnerName(uint32_t owner) { return absl::StrCat("owner-", owner); }

std::string OwnersText(const ckks::OwnerSet& set) { return absl::StrJoin(set, ", "); }

}  // namespace heft
