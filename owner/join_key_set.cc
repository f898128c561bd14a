// SPDX-License-Identifier: Apache-2.0
// A ceremony without a dealer: each owner draws its own term of the secret, and the owners make the
// public keys in rounds of messages (ckks/owner/joint_keys.h). Parts are committed to before any is
// shown: otherwise the last owner could choose its part of the public key so that the sum is a key
// of its own.
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/passphrase.h"
#include "base/progress.h"
#include "base/signed_file.h"
#include "ckks/owner/joint_keys.h"
#include "fusion/owner/joint_keys.h"
#include "heft/key_set.h"
#include "owner/ceremony.h"
#include "owner/join_message.h"
#include "owner/join_state.h"
#include "owner/key_owner_impl.h"
#include "owner/share_files.h"

namespace heft {
namespace {

// The public key files, and where they wait unsigned.
constexpr const char* kKeyFiles[] = {"encryption.key", "evaluation.keys", "enrolment.keys"};
constexpr const char* kKeyKinds[] = {"PUBK", "EVAL", "ENRK"};

uint32_t RoundNumber(JoinRound round) { return static_cast<uint32_t>(round); }

absl::Status ChangedSince(const std::string& path) {
  return absl::DataLossError(
      absl::StrCat(path, ": damaged, or changed since the step that wrote it: begin again"));
}

// PartsDigest: an owner's commitment to its parts; it is of no use to another owner.
Digest PartsDigest(const SignerKey& signer, ByteSpan parts) {
  ByteWriter writer;
  writer.Raw(signer);
  writer.Raw(HashBytes(parts));
  return HashBytes(writer.bytes());
}

class Joining {
 public:
  Joining(const Model& model, const Rings& rings, std::string folder, const Monitor& monitor)
      : model_(model), rings_(rings), folder_(std::move(folder)), monitor_(monitor) {}

  absl::StatusOr<JoinStep> Begin(uint32_t owners, const std::string& passphrase);
  absl::StatusOr<JoinStep> Continue(std::span<const std::string> messages, uint32_t owners,
                                    const std::string& passphrase);

 private:
  std::string Of(const std::string& name) const { return absl::StrCat(folder_, "/", name); }
  std::string StatePath() const { return Of("joining.key"); }
  std::string PartsPath() const { return Of("joining.parts"); }
  std::string SumsPath() const { return Of("joining.sums"); }
  static std::string JoiningName(const char* key_file) {
    return absl::StrCat("joining.", key_file);
  }
  absl::Status CheckFree() const;

  // Read: one message, of the round that this owner waits for.
  absl::StatusOr<JoinMessage> Read(ByteSpan bytes, const std::string& what) const;
  // ForAll: calls `use` for each owner's message, and moves to the next round.
  using Use = std::function<absl::Status(size_t, const JoinMessage&, const std::string&)>;
  absl::Status ForAll(std::span<const std::string> paths, const Use& use);
  // MeetOwners: ForAll of the first round, which sets the owners.
  absl::Status MeetOwners(std::span<const std::string> paths);
  // Give: saves the state, then writes this owner's message of the round in it. With the same
  // common seeds no second message may be drawn, so the state comes first.
  absl::StatusOr<JoinStep> Give(ByteSpan body) const;

  absl::StatusOr<JoinStep> Commit(std::span<const std::string> paths);
  absl::StatusOr<JoinStep> Show(std::span<const std::string> paths);
  absl::StatusOr<JoinStep> GiveLast(std::span<const std::string> paths);
  absl::StatusOr<JoinStep> GiveRecord(std::span<const std::string> paths);
  absl::StatusOr<JoinStep> Finish(std::span<const std::string> paths);

  absl::StatusOr<SigningKey> Signer() const { return OwnerSigner(state_.own); }
  absl::StatusOr<KeyShare> Share() const;
  ckks::KeyId KeyIdOf() const;
  absl::StatusOr<KeyParts> Sums() const;
  absl::StatusOr<std::vector<uint8_t>> ReadJoining(const std::string& path,
                                                   const Digest& digest) const;

  const Model& model_;
  const Rings& rings_;
  const std::string folder_;
  const Monitor& monitor_;
  JoinState state_;
  std::string passphrase_;
};

absl::Status Joining::CheckFree() const {
  std::vector<std::string> names = {"secret.key",  "share.key",     "trust.heft",
                                    "joining.key", "ceremony.heft", "round-1.msg"};
  names.insert(names.end(), std::begin(kKeyFiles), std::end(kKeyFiles));
  for (const std::string& name : names) {
    if (!FileExists(Of(name))) continue;
    return absl::AlreadyExistsError(
        absl::StrCat(Of(name), " exists: keys are never overwritten, choose another folder",
                     name == "joining.key" ? " (or give the messages of the others)" : ""));
  }
  return absl::OkStatus();
}

absl::StatusOr<KeyShare> Joining::Share() const {
  HEFT_ASSIGN_OR_RETURN(auto own, SecureVector<uint8_t>::Create(state_.own.size()));
  std::copy_n(state_.own.data(), state_.own.size(), own.data());
  const SecretKeys& secret = state_.secrets->own;
  HEFT_ASSIGN_OR_RETURN(auto large, ckks::ShareOfSum(*rings_.enrolment.context, secret.enrolment,
                                                     state_.owner, state_.owners));
  HEFT_ASSIGN_OR_RETURN(auto small, ckks::ShareOfSum(*rings_.matching.context, secret.matching(),
                                                     state_.owner, state_.owners));
  return KeyShare{KeyIdOf(), {}, std::move(own), std::move(large), std::move(small)};
}

ckks::KeyId Joining::KeyIdOf() const {
  ckks::KeyId id;
  std::copy_n(state_.reference.begin(), id.size(), id.begin());
  return id;
}

absl::StatusOr<std::vector<uint8_t>> Joining::ReadJoining(const std::string& path,
                                                          const Digest& digest) const {
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path));
  if (HashBytes(bytes) == digest) return bytes;
  return ChangedSince(path);
}

absl::StatusOr<JoinMessage> Joining::Read(ByteSpan bytes, const std::string& what) const {
  HEFT_ASSIGN_OR_RETURN(JoinMessage message, JoinMessage::Open(bytes, what));
  const auto refuse = [&](std::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": ", std::string(why)));
  };
  if (message.model_id != state_.model_id || message.params_id != rings_.enrolment.params().id()) {
    return refuse("a message for another model");
  }
  if (message.owners != state_.owners) {
    return refuse(absl::StrCat("a message for a key of ", message.owners, " owners, of ",
                               state_.owners, " here"));
  }
  const bool known = state_.round > JoinRound::kHello;
  if (known && std::ranges::count(state_.signers, message.signer) == 0) {
    return refuse(absl::StrCat("of another ceremony: ", HexString(message.signer),
                               " signed it, which is none of this one's owners"));
  }
  if (message.round != state_.round) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": a message of round ", RoundNumber(message.round), " (",
                     std::string(JoinRoundName(message.round)), "); all owners' messages of round ",
                     RoundNumber(state_.round), " (", std::string(JoinRoundName(state_.round)),
                     ") are needed now"));
  }
  if (message.transcript != state_.transcript) {
    return refuse(
        "its owner was shown other messages of the rounds before than this owner. One of the "
        "owners gave out different ones, or a file was exchanged: begin again, in new folders");
  }
  return message;
}

absl::Status Joining::ForAll(std::span<const std::string> paths, const Use& use) {
  std::vector<Digest> digests(state_.owners);
  std::vector<bool> seen(state_.owners, false);
  for (const std::string& path : paths) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxKeysSize));
    HEFT_ASSIGN_OR_RETURN(const JoinMessage message, Read(bytes, path));
    const size_t i = std::ranges::find(state_.signers, message.signer) - state_.signers.begin();
    if (seen[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": a second message of owner ", i + 1, ": give one of each owner"));
    }
    seen[i] = true;
    digests[i] = message.digest;
    HEFT_RETURN_IF_ERROR(use(i, message, path));
    if (Stopped(monitor_)) return absl::CancelledError("interrupted");
  }
  const size_t missing = std::ranges::find(seen, false) - seen.begin();
  if (missing < seen.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the message of owner ", missing + 1, missing + 1 == state_.owner ? ", this one," : "",
        " is missing: give those of all ", state_.owners, " owners, of round ",
        RoundNumber(state_.round)));
  }
  state_.transcript = NextTranscript(state_.transcript, digests);
  state_.round = static_cast<JoinRound>(RoundNumber(state_.round) + 1);
  return absl::OkStatus();
}

absl::Status Joining::MeetOwners(std::span<const std::string> paths) {
  for (const std::string& path : paths) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxKeysSize));
    HEFT_ASSIGN_OR_RETURN(const JoinMessage message, Read(bytes, path));
    if (std::ranges::count(state_.signers, message.signer) > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": a second message of one owner: give one of each owner"));
    }
    state_.signers.push_back(message.signer);
  }
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
  if (std::ranges::count(state_.signers, signer.public_key()) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(Of("round-1.msg"), " is missing: give this owner's message too"));
  }
  if (state_.signers.size() != state_.owners) {
    return absl::InvalidArgumentError(absl::StrCat(state_.signers.size(), " messages for a key of ",
                                                   state_.owners, " owners: give one of each"));
  }
  std::ranges::sort(state_.signers);
  state_.owner = static_cast<uint32_t>(std::ranges::find(state_.signers, signer.public_key()) -
                                       state_.signers.begin() + 1);
  HEFT_RETURN_IF_ERROR(ForAll(
      paths, [](size_t, const JoinMessage&, const std::string&) { return absl::OkStatus(); }));
  state_.reference = state_.transcript;
  return absl::OkStatus();
}

absl::StatusOr<JoinStep> Joining::Give(ByteSpan body) const {
  JoinMessage message;
  message.round = state_.round;
  message.owners = state_.owners;
  message.model_id = state_.model_id;
  message.params_id = rings_.enrolment.params().id();
  message.transcript = state_.transcript;
  message.body = body;
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, message.Sign(signer));
  JoinStep step;
  step.round = RoundNumber(state_.round);
  step.owner = state_.owner;
  step.owners = state_.owners;
  step.message = Of(absl::StrCat("round-", step.round, ".msg"));
  step.message_bytes = bytes.size();
  HEFT_RETURN_IF_ERROR(state_.Save(rings_, StatePath(), passphrase_));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(step.message, bytes));
  return step;
}

absl::StatusOr<JoinStep> Joining::Begin(uint32_t owners, const std::string& passphrase) {
  HEFT_RETURN_IF_ERROR(ckks::CheckSharing({owners, owners}));
  HEFT_RETURN_IF_ERROR(CheckShareable(model_, owners));
  HEFT_RETURN_IF_ERROR(CheckRoom(rings_, owners, /*secrets=*/owners));
  HEFT_RETURN_IF_ERROR(CheckFree());
  HEFT_ASSIGN_OR_RETURN(state_, JoinState::Draw(rings_, model_.Id(), owners));
  passphrase_ = passphrase;
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder_));
  return Give({});
}

absl::StatusOr<JoinStep> Joining::Commit(std::span<const std::string> paths) {
  HEFT_RETURN_IF_ERROR(MeetOwners(paths));
  HEFT_ASSIGN_OR_RETURN(const KeyParts parts,
                        MakeKeyParts(rings_, *state_.secrets, state_.reference));
  const std::vector<uint8_t> bytes = SerializeKeyParts(rings_, parts);
  HEFT_ASSIGN_OR_RETURN(const KeyShare share, Share());
  HEFT_ASSIGN_OR_RETURN(const Digest share_digest, ShareDigest(rings_, share));
  if (Stopped(monitor_)) return absl::CancelledError("interrupted");
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(PartsPath(), bytes, 0600));
  ByteWriter body;
  body.Raw(PartsDigest(state_.signers[state_.owner - 1], bytes));
  body.Raw(share_digest);
  return Give(body.bytes());
}

absl::StatusOr<JoinStep> Joining::Show(std::span<const std::string> paths) {
  state_.commitments.resize(state_.owners);
  HEFT_RETURN_IF_ERROR(
      ForAll(paths, [&](size_t i, const JoinMessage& message, const std::string& what) {
        ByteReader reader(message.body, what);
        ReadArray(reader, &state_.commitments[i].parts);
        ReadArray(reader, &state_.commitments[i].share);
        return reader.Finish();
      }));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> parts, ReadFile(PartsPath()));
  const size_t own = state_.owner - 1;
  if (PartsDigest(state_.signers[own], parts) != state_.commitments[own].parts) {
    return ChangedSince(PartsPath());
  }
  return Give(parts);
}

absl::StatusOr<JoinStep> Joining::GiveLast(std::span<const std::string> paths) {
  std::optional<KeyParts> sums;
  HEFT_RETURN_IF_ERROR(ForAll(
      paths, [&](size_t i, const JoinMessage& message, const std::string& what) -> absl::Status {
        if (PartsDigest(message.signer, message.body) != state_.commitments[i].parts) {
          return absl::FailedPreconditionError(absl::StrCat(
              what, ": not the parts that owner ", i + 1,
              " committed to: it may have changed them after it saw those of others. Begin again, "
              "without this owner"));
        }
        HEFT_ASSIGN_OR_RETURN(KeyParts parts,
                              ParseKeyParts(rings_, state_.reference, message.body, what));
        if (sums) {
          AddKeyParts(rings_, parts, &*sums);
        } else {
          sums = std::move(parts);
        }
        return absl::OkStatus();
      }));
  const LastParts last = MakeLastParts(rings_, *state_.secrets, *sums, state_.transcript);
  const std::vector<uint8_t> bytes = SerializeKeyParts(rings_, *sums);
  state_.sums = HashBytes(bytes);
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(SumsPath(), bytes));
  // The common seeds of the next round follow from this transcript.
  HEFT_ASSIGN_OR_RETURN(JoinStep step, Give(SerializeLastParts(rings_, last)));
  unlink(PartsPath().c_str());
  return step;
}

absl::StatusOr<KeyParts> Joining::Sums() const {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadJoining(SumsPath(), state_.sums));
  return ParseKeyParts(rings_, state_.reference, bytes, SumsPath());
}

absl::StatusOr<JoinStep> Joining::GiveRecord(std::span<const std::string> paths) {
  const Digest shown = state_.transcript;  // of the messages of kParts
  LastParts last;
  HEFT_RETURN_IF_ERROR(ForAll(
      paths, [&](size_t, const JoinMessage& message, const std::string& what) -> absl::Status {
        HEFT_ASSIGN_OR_RETURN(LastParts parts, ParseLastParts(rings_, shown, message.body, what));
        if (last.empty()) {
          last = std::move(parts);
        } else {
          AddLastParts(rings_, parts, &last);
        }
        return absl::OkStatus();
      }));
  HEFT_ASSIGN_OR_RETURN(KeyParts sums, Sums());
  const JointKeyFiles files = MakeJointKeyFiles(rings_, KeyIdOf(), std::move(sums), last);
  Ceremony record;
  record.key_id = KeyIdOf();
  record.model_id = state_.model_id;
  record.threshold = state_.owners;
  record.dealer = state_.signers[0];
  record.encryption_key = HashBytes(files.encryption);
  record.evaluation_keys = HashBytes(files.evaluation);
  record.enrolment_keys = HashBytes(files.enrolment);
  for (size_t i = 0; i < state_.owners; ++i) {
    record.owners.push_back({state_.signers[i], state_.commitments[i].share});
  }
  record.secrets = state_.owners;
  record.transcript = state_.transcript;
  state_.record = record.Serialize();
  ByteWriter body;
  body.Raw(record.RecordDigest());
  const std::vector<uint8_t>* const contents[] = {&files.encryption, &files.evaluation,
                                                  &files.enrolment};
  for (size_t i = 0; i < std::size(kKeyFiles); ++i) {
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(Of(JoiningName(kKeyFiles[i])), *contents[i]));
    if (state_.owner != 1) continue;
    // The first owner signs the key files, so that all have the same.
    HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> file,
                          signer.Sign({.role = Role::kKeyOwner}, *contents[i]));
    HEFT_ASSIGN_OR_RETURN(const SignedHead head, HeadOf(file, kKeyFiles[i]));
    body.Raw(head.bytes);
  }
  HEFT_ASSIGN_OR_RETURN(JoinStep step, Give(body.bytes()));
  unlink(SumsPath().c_str());
  return step;
}

absl::StatusOr<JoinStep> Joining::Finish(std::span<const std::string> paths) {
  HEFT_ASSIGN_OR_RETURN(Ceremony record, Ceremony::Parse(state_.record, StatePath()));
  const Digest digest = record.RecordDigest();
  record.approvals.resize(state_.owners);
  std::vector<std::vector<uint8_t>> heads;
  HEFT_RETURN_IF_ERROR(ForAll(
      paths, [&](size_t i, const JoinMessage& message, const std::string& what) -> absl::Status {
        ByteReader reader(message.body, what);
        Digest found{};
        ReadArray(reader, &found);
        for (size_t k = 0; i == 0 && k < std::size(kKeyFiles); ++k) {
          const ByteSpan head = reader.Raw(kSignedHeadSize);
          heads.emplace_back(head.begin(), head.end());
        }
        HEFT_RETURN_IF_ERROR(reader.Finish());
        if (found != digest) {
          return absl::FailedPreconditionError(
              absl::StrCat(what, ": owner ", i + 1,
                           " signed another record than this owner's: its keys differ. Begin "
                           "again, in new folders"));
        }
        HEFT_ASSIGN_OR_RETURN(record.approvals[i], ReadFile(what, kMaxModelSize));
        return absl::OkStatus();
      }));
  HEFT_ASSIGN_OR_RETURN(const Trust trust, record.Signers());
  const Digest digests[] = {record.encryption_key, record.evaluation_keys, record.enrolment_keys};
  JoinStep step;
  size_t sizes[std::size(kKeyFiles)] = {};
  for (size_t k = 0; k < std::size(kKeyFiles); ++k) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> content,
                          ReadJoining(Of(JoiningName(kKeyFiles[k])), digests[k]));
    const std::vector<uint8_t> file = WithHead(heads[k], content);
    HEFT_ASSIGN_OR_RETURN(
        const SignedFile opened,
        OpenSigned(file, trust, {.roles = {Role::kKeyOwner}, .kind = kKeyKinds[k]},
                   absl::StrCat("owner 1's signature of ", kKeyFiles[k])));
    if (opened.signer != record.dealer) {
      return absl::FailedPreconditionError(
          absl::StrCat(kKeyFiles[k], ": another owner than the first signed it"));
    }
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(Of(kKeyFiles[k]), file));
    sizes[k] = file.size();
  }
  HEFT_ASSIGN_OR_RETURN(KeyShare share, Share());
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
  HEFT_ASSIGN_OR_RETURN(share.ceremony, signer.Sign({.role = Role::kKeyOwner}, record.Serialize()));
  HEFT_RETURN_IF_ERROR(ReadCeremony(share.ceremony, "the record of this ceremony").status());
  HEFT_RETURN_IF_ERROR(
      WriteOwnerFiles(folder_, rings_, HeldKey(std::move(share)), trust.Serialize(), passphrase_));
  for (const char* name : kKeyFiles) unlink(Of(JoiningName(name)).c_str());
  unlink(StatePath().c_str());
  step.round = RoundNumber(JoinRound::kDone);
  step.owner = state_.owner;
  step.owners = state_.owners;
  step.share = Of("share.key");
  step.ceremony = Of("ceremony.heft");
  step.keys.key_id = record.key_id;
  DescribeParameters(rings_, &step.keys);
  step.keys.encryption_key = Of(kKeyFiles[0]);
  step.keys.evaluation_keys = Of(kKeyFiles[1]);
  step.keys.enrolment_keys = Of(kKeyFiles[2]);
  step.keys.encryption_key_bytes = sizes[0];
  step.keys.evaluation_keys_bytes = sizes[1];
  step.keys.enrolment_keys_bytes = sizes[2];
  step.keys.trust = Of("trust.heft");
  return step;
}

absl::StatusOr<JoinStep> Joining::Continue(std::span<const std::string> messages, uint32_t owners,
                                           const std::string& passphrase) {
  if (!FileExists(StatePath())) {
    return absl::InvalidArgumentError(
        absl::StrCat(StatePath(),
                     " does not exist: begin with the number of owners, and no "
                     "messages; or this ceremony is complete"));
  }
  if (FileExists(Of("share.key"))) {
    return absl::AlreadyExistsError(
        absl::StrCat(Of("share.key"),
                     " exists, so this ceremony is complete: remove joining.key, which has the "
                     "same secret, and the other files joining.*"));
  }
  HEFT_ASSIGN_OR_RETURN(state_, JoinState::Load(rings_, model_.Id(), StatePath(), passphrase));
  passphrase_ = passphrase;
  if (owners != 0 && owners != state_.owners) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a ceremony of ", state_.owners, " owners was begun in this folder, not of ", owners));
  }
  switch (state_.round) {
    case JoinRound::kHello:
      return Commit(messages);
    case JoinRound::kCommit:
      return Show(messages);
    case JoinRound::kParts:
      return GiveLast(messages);
    case JoinRound::kLast:
      return GiveRecord(messages);
    default:
      return Finish(messages);
  }
}

}  // namespace

Json JoinStepJson(const JoinStep& step) {
  Json json = {{"round", step.round}, {"owners", step.owners}};
  if (step.owner > 0) json["owner"] = step.owner;
  if (!step.message.empty()) {
    json["message"] = step.message;
    json["message_bytes"] = step.message_bytes;
    return json;
  }
  json.update(KeySetJson(step.keys));
  json["share"] = step.share;
  json["ceremony"] = step.ceremony;
  return json;
}

absl::StatusOr<JoinStep> JoinKeySet(const Model& model, const std::string& folder, uint32_t owners,
                                    std::span<const std::string> messages,
                                    const PassphraseSource& passphrase, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(model));
  Joining joining(model, rings, folder, monitor);
  Wiped asked;
  HEFT_RETURN_IF_ERROR(AskPassphrase(passphrase, &asked));
  if (messages.empty()) return joining.Begin(owners, asked.text);
  return joining.Continue(messages, owners, asked.text);
}

}  // namespace heft
