// SPDX-License-Identifier: Apache-2.0
#include "owner/join_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/passphrase.h"
#include "ckks/serialization.h"
#include "fusion/owner/key_share.h"
#include "owner/part_file.h"

namespace heft {
namespace {

constexpr uint32_t kJoinStateVersion = 1;
constexpr uint64_t kMaxStateBytes = 1 << 22;
constexpr size_t kMaxRecordBytes = 1 << 13;

// Secret bytes: `own`, and a byte for each coefficient of both rings' secrets.
size_t StateSecretSize(const Rings& rings) {
  return kOwnSecretSize + 2 * (rings.enrolment.params().n() + rings.matching.params().n());
}

absl::StatusOr<SecureVector<uint8_t>> StateSecret(const Rings& rings, const JoinState& state) {
  HEFT_ASSIGN_OR_RETURN(auto out, SecureVector<uint8_t>::Create(StateSecretSize(rings)));
  uint8_t* at = std::copy_n(state.own.data(), kOwnSecretSize, out.data());
  for (const SecretKeys* keys : {&state.secrets->own, &state.secrets->ephemeral}) {
    for (const ckks::SecretKey* key : {&keys->enrolment, &keys->matching()}) {
      for (const int8_t c : key->coefficients()) *at++ = static_cast<uint8_t>(c + 1);
    }
  }
  return out;
}

absl::Status SetSecret(const Rings& rings, ByteSpan secret, JoinState* state) {
  HEFT_ASSIGN_OR_RETURN(state->own, SecureVector<uint8_t>::Create(kOwnSecretSize));
  std::copy_n(secret.data(), kOwnSecretSize, state->own.data());
  const uint8_t* at = secret.data() + kOwnSecretSize;
  const auto next = [&](const Instance& ring) -> absl::StatusOr<ckks::SecretKey> {
    const size_t n = ring.params().n();
    HEFT_ASSIGN_OR_RETURN(auto coefficients, SecureVector<int8_t>::Create(n));
    for (size_t i = 0; i < n; ++i) coefficients[i] = static_cast<int8_t>(*at++ - 1);
    HEFT_RETURN_IF_ERROR(ckks::CheckUniformTernary(coefficients.span(), "the ceremony's state"));
    return ckks::SecretKey::FromCoefficients(*ring.context, {}, coefficients.span());
  };
  HEFT_ASSIGN_OR_RETURN(auto large, next(rings.enrolment));
  HEFT_ASSIGN_OR_RETURN(auto small, next(rings.matching));
  HEFT_ASSIGN_OR_RETURN(auto large_ephemeral, next(rings.enrolment));
  HEFT_ASSIGN_OR_RETURN(auto small_ephemeral, next(rings.matching));
  state->secrets = JointSecrets{SecretKeys(std::move(large), std::move(small)),
                                SecretKeys(std::move(large_ephemeral), std::move(small_ephemeral))};
  return absl::OkStatus();
}

// The public part, in front of the secret.
void WriteJoinState(const Rings& rings, const JoinState& state, ByteWriter* out) {
  ByteWriter& writer = *out;
  ckks::WriteId(writer, rings.enrolment.params().id());
  ckks::WriteId(writer, state.model_id);
  writer.U32(state.owners);
  writer.U32(state.owner);
  writer.U32(static_cast<uint32_t>(state.round));
  for (const Digest& d : {state.transcript, state.reference, state.sums}) writer.Raw(d);
  writer.U64(state.signers.size());
  for (const SignerKey& signer : state.signers) writer.Raw(signer);
  writer.U64(state.commitments.size());
  for (const JoinState::Commitment& one : state.commitments) {
    writer.Raw(one.parts);
    writer.Raw(one.share);
  }
  writer.U64(state.record.size());
  writer.Raw(state.record);
}

void ReadJoinState(ByteReader& reader, JoinState* state) {
  state->owners = reader.U32();
  state->owner = reader.U32();
  const uint32_t round = reader.U32();
  if (reader.ok() && (round < 1 || round > static_cast<uint32_t>(JoinRound::kRecord))) {
    reader.Fail("no round of a ceremony");
  }
  state->round = static_cast<JoinRound>(round);
  for (Digest* d : {&state->transcript, &state->reference, &state->sums}) ReadArray(reader, d);
  state->signers.resize(reader.Count(sizeof(SignerKey), ckks::kMaxOwners));
  for (SignerKey& signer : state->signers) ReadArray(reader, &signer);
  state->commitments.resize(reader.Count(2 * sizeof(Digest), ckks::kMaxOwners));
  for (JoinState::Commitment& one : state->commitments) {
    ReadArray(reader, &one.parts);
    ReadArray(reader, &one.share);
  }
  const ByteSpan record = reader.Raw(reader.Count(1, kMaxRecordBytes));
  state->record.assign(record.begin(), record.end());
  const bool known = state->round > JoinRound::kHello;
  if (reader.ok() && (state->owners < 2 || state->owners > ckks::kMaxOwners ||
                      state->signers.size() != (known ? state->owners : 0) ||
                      state->owner > state->owners || known != (state->owner > 0))) {
    reader.Fail("no state of a ceremony");
  }
}

}  // namespace

absl::StatusOr<JoinState> JoinState::Draw(const Rings& rings, const ModelId& model,
                                          uint32_t owners) {
  JoinState state;
  state.model_id = model;
  state.owners = owners;
  state.transcript = FirstTranscript();
  HEFT_ASSIGN_OR_RETURN(state.own, NewOwnSecret());
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(SecretKeys own, GenerateSecretKeys(rings, rng));
  HEFT_ASSIGN_OR_RETURN(SecretKeys ephemeral, GenerateSecretKeys(rings, rng));
  state.secrets = JointSecrets{std::move(own), std::move(ephemeral)};
  return state;
}

absl::StatusOr<JoinState> JoinState::Load(const Rings& rings, const ModelId& model,
                                          const std::string& path, const std::string& passphrase) {
  HEFT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(path, kMaxStateBytes));
  auto state = Parse(rings, model, file.bytes.span(), passphrase, path);
  if (state.ok()) HEFT_RETURN_IF_ERROR(file.permissions);
  return state;
}

absl::StatusOr<JoinState> JoinState::Parse(const Rings& rings, const ModelId& model, ByteSpan bytes,
                                           const std::string& passphrase, const std::string& what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kJoinStateKind, kJoinStateVersion, what));
  ByteReader reader(payload, what);
  const ckks::ParamsId params = ckks::ReadId(reader);
  JoinState state;
  state.model_id = ckks::ReadId(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(rings.enrolment.params(), params, what));
  if (state.model_id != model) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": the state of a ceremony for another model"));
  }
  ReadJoinState(reader, &state);
  const bool sealed = SecretIsSealed(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_ASSIGN_OR_RETURN(auto secret, SecureVector<uint8_t>::Create(StateSecretSize(rings)));
  HEFT_RETURN_IF_ERROR(ReadSecret(reader, payload, sealed, passphrase, what, secret.span()));
  HEFT_RETURN_IF_ERROR(SetSecret(rings, secret.span(), &state));
  return state;
}

absl::StatusOr<std::vector<uint8_t>> JoinState::Serialize(const Rings& rings,
                                                          const std::string& passphrase) const {
  HEFT_ASSIGN_OR_RETURN(const auto secret, StateSecret(rings, *this));
  ByteWriter writer;
  writer.Reserve(secret.size() + record.size() + 2048);
  WriteJoinState(rings, *this, &writer);
  const absl::Status written = WriteSecret(&writer, secret.span(), passphrase);
  std::vector<uint8_t> payload = writer.Take();
  std::vector<uint8_t> file;
  if (written.ok()) file = SealEnvelope(kJoinStateKind, kJoinStateVersion, payload);
  SecureWipe(payload.data(), payload.size());
  HEFT_RETURN_IF_ERROR(written);
  return file;
}

absl::Status JoinState::Save(const Rings& rings, const std::string& path,
                             const std::string& passphrase) const {
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> file, Serialize(rings, passphrase));
  const absl::Status written = WriteFileAtomic(path, file, 0600);
  SecureWipe(file.data(), file.size());
  return written;
}

}  // namespace heft
