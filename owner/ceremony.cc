// SPDX-License-Identifier: Apache-2.0
#include "owner/ceremony.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/envelope.h"
#include "ckks/serialization.h"
#include "owner/join_message.h"
#include "owner/part_file.h"

namespace heft {
namespace {

constexpr uint32_t kCeremonyVersion = 1;
constexpr uint32_t kJointVersion = 2;
constexpr size_t kMaxApprovalBytes = 1 << 13;

void WriteRecord(const Ceremony& record, ByteWriter* out) {
  ByteWriter& writer = *out;
  const auto& [key_id, model_id, threshold, renewal, previous, dealer, encryption_key,
               evaluation_keys, enrolment_keys, owners, secrets, transcript, approvals] = record;
  ckks::WriteId(writer, key_id);
  ckks::WriteId(writer, model_id);
  writer.U32(threshold);
  writer.U32(renewal);
  for (const Digest& d : {previous, dealer, encryption_key, evaluation_keys, enrolment_keys}) {
    writer.Raw(d);
  }
  writer.U64(owners.size());
  for (const Ceremony::Owner& owner : owners) {
    writer.Raw(owner.signer);
    writer.Raw(owner.share);
  }
  if (!record.joint()) return;
  writer.U32(secrets);
  writer.Raw(transcript);
}

// CheckApprovals: each owner has signed the record, in their order.
absl::Status CheckApprovals(const Ceremony& record, std::string_view what) {
  const Digest digest = record.RecordDigest();
  bool good = record.approvals.size() == record.owners.size();
  for (size_t i = 0; good && i < record.owners.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(const JoinMessage message, JoinMessage::Open(record.approvals[i], what));
    good = message.signer == record.owners[i].signer && message.round == JoinRound::kRecord &&
           message.transcript == record.transcript && message.body.size() >= digest.size() &&
           std::ranges::equal(message.body.first(digest.size()), digest);
  }
  if (good) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what), ": not signed by all owners of this key: a forged record"));
}

}  // namespace

absl::StatusOr<Trust> Ceremony::Signers() const {
  Trust trust;
  for (uint32_t number = 1; number <= owners.size(); ++number) {
    HEFT_RETURN_IF_ERROR(trust.Add(Role::kKeyOwner, OwnerName(number), owner(number).signer));
  }
  return trust;
}

Digest Ceremony::RecordDigest() const {
  // Of a dealer's as it was before there were joint keys.
  if (!joint()) return HashBytes(Serialize());
  ByteWriter writer;
  WriteRecord(*this, &writer);
  return HashBytes(writer.bytes());
}

std::vector<uint8_t> Ceremony::Serialize() const {
  ByteWriter writer;
  WriteRecord(*this, &writer);
  if (joint()) {
    writer.U64(approvals.size());
    for (const std::vector<uint8_t>& approval : approvals) {
      writer.U64(approval.size());
      writer.Raw(approval);
    }
  }
  return SealEnvelope(kCeremonyKind, joint() ? kJointVersion : kCeremonyVersion, writer.bytes());
}

absl::StatusOr<Ceremony> Ceremony::Parse(ByteSpan bytes, std::string_view what) {
  const bool joint = EnvelopeVersion(bytes) == kJointVersion;
  HEFT_ASSIGN_OR_RETURN(
      const ByteSpan payload,
      OpenEnvelope(bytes, kCeremonyKind, joint ? kJointVersion : kCeremonyVersion, what));
  ByteReader reader(payload, what);
  Ceremony out;
  out.key_id = ckks::ReadId(reader);
  out.model_id = ckks::ReadId(reader);
  out.threshold = reader.U32();
  out.renewal = reader.U32();
  for (Digest* d : {&out.previous, &out.dealer, &out.encryption_key, &out.evaluation_keys,
                    &out.enrolment_keys}) {
    ReadArray(reader, d);
  }
  out.owners.resize(reader.Count(sizeof(SignerKey) + sizeof(Digest), ckks::kMaxOwners));
  for (Owner& owner : out.owners) {
    ReadArray(reader, &owner.signer);
    ReadArray(reader, &owner.share);
  }
  if (joint) {
    out.secrets = reader.U32();
    ReadArray(reader, &out.transcript);
    out.approvals.resize(reader.Count(sizeof(uint64_t), ckks::kMaxOwners));
    for (std::vector<uint8_t>& approval : out.approvals) {
      const ByteSpan signed_bytes = reader.Raw(reader.Count(1, kMaxApprovalBytes));
      approval.assign(signed_bytes.begin(), signed_bytes.end());
    }
    if (reader.ok() && (out.secrets < 2 || out.secrets > ckks::kMaxOwners)) {
      reader.Fail("a joint key of so many owners does not exist");
    }
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
  out.digest = out.ceremony.RecordDigest();
  out.when = file.statement.issued;
  const Ceremony& ceremony = out.ceremony;
  const bool by_owner =
      (ceremony.renewal > 0 || ceremony.joint()) &&
      std::ranges::count(ceremony.owners, file.signer, &Ceremony::Owner::signer) > 0;
  if (ceremony.renewal == 0 && ceremony.joint()) {
    HEFT_RETURN_IF_ERROR(CheckApprovals(ceremony, what));
  }
  if (file.statement.role == Role::kKeyOwner && (file.signer == ceremony.dealer || by_owner)) {
    return out;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      std::string(what), ": signed by another than the dealer of this key: a forged record"));
}

std::string OwnerName(uint32_t owner) { return absl::StrCat("owner-", owner); }

std::string OwnersText(const ckks::OwnerSet& set) { return absl::StrJoin(set, ", "); }

}  // namespace heft
