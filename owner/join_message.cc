// SPDX-License-Identifier: Apache-2.0
#include "owner/join_message.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/signed_file.h"
#include "ckks/serialization.h"
#include "owner/part_file.h"

namespace heft {
namespace {

constexpr uint32_t kJoinVersion = 1;

}  // namespace

std::string_view JoinRoundName(JoinRound round) {
  constexpr std::string_view kNames[] = {"", "hello", "commit", "parts", "last", "record", "done"};
  return kNames[static_cast<uint32_t>(round)];
}

absl::StatusOr<std::vector<uint8_t>> JoinMessage::Sign(const SigningKey& key) const {
  return SignWritten(key, {.role = Role::kKeyOwner}, body.size() + 256, [&](ByteWriter& writer) {
    const size_t start = BeginEnvelope(kJoinKind, kJoinVersion, &writer);
    writer.U32(static_cast<uint32_t>(round));
    writer.U32(owners);
    ckks::WriteId(writer, model_id);
    ckks::WriteId(writer, params_id);
    writer.Raw(transcript);
    writer.Raw(body);
    return EndEnvelope(start, &writer);
  });
}

absl::StatusOr<JoinMessage> JoinMessage::Open(ByteSpan bytes, std::string_view what) {
  if (!IsSigned(bytes)) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": not a message of heft keygen join"));
  }
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(bytes, what));
  if (file.statement.role != Role::kKeyOwner || file.statement.kind != kJoinKind) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": not a message of heft keygen join"));
  }
  HEFT_ASSIGN_OR_RETURN(JoinMessage out, Parse(file.file, Checksum::kKnown, what));
  out.signer = file.signer;
  out.digest = HashBytes(file.file);
  return out;
}

absl::StatusOr<JoinMessage> JoinMessage::Parse(ByteSpan file, Checksum checksum,
                                               std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(file, kJoinKind, kJoinVersion, what, checksum));
  ByteReader reader(payload, what);
  JoinMessage out;
  const uint32_t round = reader.U32();
  if (reader.ok() && (round < 1 || round > static_cast<uint32_t>(JoinRound::kRecord))) {
    reader.Fail(absl::StrCat("round ", round, " does not exist"));
  }
  out.round = static_cast<JoinRound>(round);
  out.owners = reader.U32();
  out.model_id = ckks::ReadId(reader);
  out.params_id = ckks::ReadId(reader);
  ReadArray(reader, &out.transcript);
  out.body = reader.Raw(reader.remaining());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return out;
}

Digest FirstTranscript() { return HashBytes(AsBytes("HEFT ceremony without a dealer, version 1")); }

Digest NextTranscript(const Digest& before, const std::vector<Digest>& messages) {
  ByteWriter writer;
  writer.Raw(before);
  for (const Digest& message : messages) writer.Raw(message);
  return HashBytes(writer.bytes());
}

}  // namespace heft
