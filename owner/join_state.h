// SPDX-License-Identifier: Apache-2.0
// JoinState: what an owner keeps between the steps of a ceremony without a dealer (kind JKEY, mode
// 0600, sealed like a secret key; docs/formats.md).
#ifndef HEFT_OWNER_JOIN_STATE_H_
#define HEFT_OWNER_JOIN_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/secure.h"
#include "base/status.h"
#include "fusion/owner/joint_keys.h"
#include "fusion/rings.h"
#include "heft/model.h"
#include "heft/trust.h"
#include "owner/join_message.h"

namespace heft {

inline constexpr std::string_view kJoinStateKind = "JKEY";

struct JoinState {
  // Commitment: one owner's, to its parts and to its share.
  struct Commitment {
    Digest parts{}, share{};
  };
  ModelId model_id{};
  uint32_t owners = 0;
  uint32_t owner = 0;  // this one's number, in the order of the signing keys; 0: not known yet
  // The round of this owner's newest message: the messages that it waits for are of this round, and
  // state this transcript.
  JoinRound round = JoinRound::kHello;
  Digest transcript{};
  Digest reference{};  // the transcript after kHello: names the ceremony, and gives common seeds
  std::vector<SignerKey> signers;       // by owner
  std::vector<Commitment> commitments;  // by owner
  Digest sums{};                        // of the file of the sums of all parts
  std::vector<uint8_t> record;          // kRecord: the ceremony's, without approvals
  SecureVector<uint8_t> own;            // KeyShare::own
  std::optional<JointSecrets> secrets;  // always

  // Draw: a new owner's.
  static absl::StatusOr<JoinState> Draw(const Rings& rings, const ModelId& model, uint32_t owners);
  // Load, Save: errors as of secret key files; kFailedPrecondition for another model.
  static absl::StatusOr<JoinState> Load(const Rings& rings, const ModelId& model,
                                        const std::string& path, const std::string& passphrase);
  absl::Status Save(const Rings& rings, const std::string& path,
                    const std::string& passphrase) const;
  // Parse, Serialize: of the file's bytes. The caller wipes them.
  static absl::StatusOr<JoinState> Parse(const Rings& rings, const ModelId& model, ByteSpan bytes,
                                         const std::string& passphrase, const std::string& what);
  absl::StatusOr<std::vector<uint8_t>> Serialize(const Rings& rings,
                                                 const std::string& passphrase) const;
};

}  // namespace heft

#endif  // HEFT_OWNER_JOIN_STATE_H_
