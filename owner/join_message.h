// SPDX-License-Identifier: Apache-2.0
// JoinMessage: one owner's message of a ceremony without a dealer (kind JOIN, docs/formats.md). The
// owner signs it. It states the transcript of all messages before its round, so it belongs to one
// ceremony, and to what its owner was shown there.
#ifndef HEFT_OWNER_JOIN_MESSAGE_H_
#define HEFT_OWNER_JOIN_MESSAGE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/envelope.h"
#include "base/status.h"
#include "ckks/params.h"
#include "heft/model.h"
#include "heft/trust.h"

namespace heft {

inline constexpr std::string_view kJoinKind = "JOIN";

// JoinRound: of a ceremony. kHello: the owners and their signing keys. kCommit: digests of their
// parts of all keys. kParts: these parts. kLast: the parts of relinearisation that follow from all
// of these. kRecord: the signed record.
enum class JoinRound : uint32_t { kHello = 1, kCommit, kParts, kLast, kRecord, kDone };
// JoinRoundName: "hello", "commit", "parts", "last", "record".
std::string_view JoinRoundName(JoinRound round);

struct JoinMessage {
  JoinRound round = JoinRound::kHello;
  uint32_t owners = 0;
  ModelId model_id{};
  ckks::ParamsId params_id{};
  Digest transcript{};
  ByteSpan body;
  SignerKey signer{};  // of an opened message
  Digest digest{};     // of an opened message, without its signature

  absl::StatusOr<std::vector<uint8_t>> Sign(const SigningKey& key) const;
  // Open: checks the signature, of any signer. The body is a view. kDataLoss, kFailedPrecondition.
  static absl::StatusOr<JoinMessage> Open(ByteSpan bytes, std::string_view what);
  // Parse: of the file in the signed one; checks no signature.
  static absl::StatusOr<JoinMessage> Parse(ByteSpan file, Checksum checksum, std::string_view what);
};

// NextTranscript: after a round whose messages have these digests, in the order of the owners.
// FirstTranscript: before the first.
Digest FirstTranscript();
Digest NextTranscript(const Digest& before, const std::vector<Digest>& messages);

}  // namespace heft

#endif  // HEFT_OWNER_JOIN_MESSAGE_H_
