// SPDX-License-Identifier: Apache-2.0
// Files of a shared key (owner/): the record of a ceremony, an owner's partial openings, and the
// messages and state of a ceremony without a dealer. The kind says which file it is; signatures are
// not looked at, and sealed states are read up to where a passphrase is needed.
#include "base/envelope.h"
#include "fuzz/fuzz.h"
#include "owner/ceremony.h"
#include "owner/join_message.h"
#include "owner/join_state.h"
#include "owner/part_file.h"

namespace heft::fuzz {
namespace {

void CheckSame(const std::vector<uint8_t>& again, ByteSpan bytes) {
  Check(std::ranges::equal(again, bytes), "a file writes the bytes that it was read from");
}

void ReadMessage(ByteSpan bytes) {
  const auto message = JoinMessage::Parse(bytes, Checksum::kCheck, "input");
  if (!message.ok()) return CheckRefusal(message.status());
  Check(message->round >= JoinRound::kHello && message->round <= JoinRound::kRecord,
        "a round of the ceremony");
  Check(!JoinRoundName(message->round).empty(), "a round has a name");
  const ByteSpan body = message->body;
  Check(body.empty() || (body.data() >= bytes.data() &&
                         body.data() + body.size() <= bytes.data() + bytes.size()),
        "the body is a part of the input");
}

void ReadState(ByteSpan bytes) {
  const auto state = JoinState::Parse(SmallRings(), {2}, bytes, {}, "input");
  if (!state.ok()) return CheckRefusal(state.status());
  Check(state->secrets.has_value() && state->own.size() == kOwnSecretSize, "a state has secrets");
  Check(state->owner <= state->owners && state->owners <= ckks::kMaxOwners, "owners of a key");
  const auto again = state->Serialize(SmallRings(), {});
  Check(again.ok(), "a state can be written");
  CheckSame(*again, bytes);
}

void ReadRecord(ByteSpan bytes) {
  const auto record = Ceremony::Parse(bytes, "input");
  if (!record.ok()) return CheckRefusal(record.status());
  Check(ckks::CheckSharing(record->sharing()).ok(), "a sharing among owners");
  CheckSame(record->Serialize(), bytes);
}

void ReadPart(ByteSpan bytes) {
  const auto part = PartFile::Parse(SmallRings(), bytes, "input");
  if (!part.ok()) return CheckRefusal(part.status());
  CheckSame(part->Serialize(SmallRings()), bytes);
}

void Read(ByteSpan bytes) {
  const std::string kind = EnvelopeKind(bytes);
  if (kind == kJoinStateKind) return ReadState(bytes);
  if (kind == kCeremonyKind) return ReadRecord(bytes);
  if (kind == kPartKind) return ReadPart(bytes);
  ReadMessage(bytes);
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heft::fuzz::ReadBothWays({data, size}, heft::fuzz::Read);
  return 0;
}
