// SPDX-License-Identifier: Apache-2.0
// New shares of the same key, by messages between owners: each of `threshold` owners shares its
// contribution to the key anew, sealed for each owner, and each owner adds up the shares that it
// receives. No owner sees the key, and an old share is of no use with the new ones.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/passphrase.h"
#include "base/secure.h"
#include "ckks/serialization.h"
#include "heft/key_set.h"
#include "owner/ceremony.h"
#include "owner/key_owner_impl.h"
#include "owner/owner_box.h"
#include "owner/part_file.h"
#include "owner/share_files.h"

namespace heft {
namespace {

constexpr std::string_view kReshareKind = "RSHR";
constexpr uint32_t kReshareVersion = 1;
constexpr size_t kMaxSealed = 1 << 22;

// Message: of one owner, to all.
struct Message {
  ckks::KeyId key_id{};
  Digest ceremony{};
  uint32_t from = 0;
  OwnerSet set;
  Replacement replacement;
  struct Box {
    Digest digest{};  // of the sealed bytes
    std::vector<uint8_t> sealed;
  };
  std::vector<Box> boxes;  // by owner

  std::vector<uint8_t> Serialize() const {
    ByteWriter writer;
    ckks::WriteId(writer, key_id);
    writer.Raw(ceremony);
    writer.U32(from);
    writer.U64(set.size());
    writer.U32Array(set);
    writer.U32(replacement.owner);
    writer.Raw(replacement.signer);
    writer.U64(boxes.size());
    for (const Box& box : boxes) {
      writer.Raw(box.digest);
      writer.U64(box.sealed.size());
      writer.Raw(box.sealed);
    }
    return SealEnvelope(kReshareKind, kReshareVersion, writer.bytes());
  }
  static absl::StatusOr<Message> Parse(ByteSpan bytes, std::string_view what) {
    HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                          OpenEnvelope(bytes, kReshareKind, kReshareVersion, what));
    ByteReader reader(payload, what);
    Message out;
    out.key_id = ckks::ReadId(reader);
    ReadArray(reader, &out.ceremony);
    out.from = reader.U32();
    out.set.resize(reader.Count(sizeof(uint32_t), ckks::kMaxOwners));
    reader.U32Array(out.set);
    out.replacement.owner = reader.U32();
    ReadArray(reader, &out.replacement.signer);
    out.boxes.resize(reader.Count(sizeof(Digest) + 8, ckks::kMaxOwners));
    for (Box& box : out.boxes) {
      ReadArray(reader, &box.digest);
      const ByteSpan sealed = reader.Raw(reader.Count(1, kMaxSealed));
      box.sealed.assign(sealed.begin(), sealed.end());
    }
    HEFT_RETURN_IF_ERROR(reader.Finish());
    return out;
  }
};

absl::StatusOr<const KeyOwner::Impl*> SharedImpl(const KeyOwner& owner) {
  if (owner.shared()) return &Inside::Of(owner);
  return absl::FailedPreconditionError("a whole key, which has no shares to renew");
}

absl::Status CheckReplacement(const Ceremony& ceremony, const OwnerSet& set,
                              const Replacement& replacement) {
  if (replacement.owner == 0) return absl::OkStatus();
  if (replacement.owner > ceremony.owners.size() || std::ranges::count(set, replacement.owner)) {
    return absl::InvalidArgumentError(
        absl::StrCat("owner ", replacement.owner,
                     " cannot be replaced here: it is none of this key's, or one who acts"));
  }
  return absl::OkStatus();
}

// NextCeremony: the record after these messages, the same at every owner.
Ceremony NextCeremony(const SignedCeremony& old, const std::vector<Message>& messages) {
  Ceremony next = old.ceremony;
  ++next.renewal;
  next.previous = old.digest;
  next.approvals.clear();  // of the record before
  const Replacement& replacement = messages[0].replacement;
  if (replacement.owner > 0) next.owners[replacement.owner - 1].signer = replacement.signer;
  for (size_t i = 0; i < next.owners.size(); ++i) {
    ByteWriter writer;
    for (const Message& message : messages) writer.Raw(message.boxes[i].digest);
    next.owners[i].share = HashBytes(writer.bytes());
  }
  return next;
}

// ReadMessages: of all owners of one set, in their order.
absl::StatusOr<std::vector<Message>> ReadMessages(const SignedCeremony& record,
                                                  std::span<const ReplyFile> files) {
  const Ceremony& ceremony = record.ceremony;
  HEFT_ASSIGN_OR_RETURN(const Trust owners, ceremony.Signers());
  std::vector<Message> out;
  for (const ReplyFile& file : files) {
    const std::string what(file.what);
    HEFT_ASSIGN_OR_RETURN(
        const SignedFile opened,
        OpenSigned(file.bytes, owners,
                   {.roles = {Role::kKeyOwner}, .kind = std::string(kReshareKind)}, what));
    HEFT_ASSIGN_OR_RETURN(Message message, Message::Parse(opened.file, what));
    if (message.key_id != ceremony.key_id || message.ceremony != record.digest) {
      return absl::FailedPreconditionError(
          absl::StrCat(what, ": of another key, or another renewal of its shares"));
    }
    if (message.from < 1 || message.from > ceremony.owners.size() ||
        ceremony.owner(message.from).signer != opened.signer ||
        message.boxes.size() != ceremony.owners.size()) {
      return absl::FailedPreconditionError(
          absl::StrCat(what, ": signed by another owner than it states, or not for all owners"));
    }
    out.push_back(std::move(message));
  }
  std::ranges::sort(out, {}, &Message::from);
  OwnerSet from;
  for (const Message& message : out) from.push_back(message.from);
  HEFT_RETURN_IF_ERROR(ckks::CheckOwnerSet(ceremony.sharing(), from));
  for (const Message& message : out) {
    if (message.set == from && message.replacement == out[0].replacement) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the message of owner ", message.from,
                     " is for another set of owners, or replaces another "
                     "one, than those that are given: all must be made with the same options"));
  }
  return out;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> GiveNewShares(const KeyOwner& owner, const OwnerSet& owners,
                                                   const Replacement& replacement) {
  HEFT_ASSIGN_OR_RETURN(const KeyOwner::Impl* impl, SharedImpl(owner));
  const KeyShare& share = *impl->held().share();
  const SignedCeremony& record = impl->ceremony();
  const Ceremony& ceremony = record.ceremony;
  const ckks::Sharing sharing = ceremony.sharing();
  HEFT_RETURN_IF_ERROR(CheckReplacement(ceremony, owners, replacement));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(const auto large,
                        ckks::Reshare(*impl->rings().enrolment.context, share.enrolment, sharing,
                                      owners, sharing, rng));
  HEFT_ASSIGN_OR_RETURN(const auto small,
                        ckks::Reshare(*impl->rings().matching.context, share.matching, sharing,
                                      owners, sharing, rng));
  Message message;
  message.key_id = owner.key_id();
  message.ceremony = record.digest;
  message.from = share.owner();
  message.set = owners;
  message.replacement = replacement;
  for (uint32_t to = 1; to <= sharing.owners; ++to) {
    HEFT_ASSIGN_OR_RETURN(const auto packed,
                          PackShares(impl->rings(), large[to - 1], small[to - 1]));
    const SignerKey& signer =
        to == replacement.owner ? replacement.signer : ceremony.owner(to).signer;
    Message::Box box;
    box.digest = HashBytes(packed.span());
    HEFT_ASSIGN_OR_RETURN(box.sealed, SealFor(signer, packed.span()));
    message.boxes.push_back(std::move(box));
  }
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, owner.Signer());
  return signer.Sign({.role = Role::kKeyOwner}, message.Serialize());
}

absl::Status TakeNewShare(const KeyOwner& owner, std::span<const ReplyFile> messages,
                          const std::string& path, const PassphraseSource& passphrase) {
  HEFT_ASSIGN_OR_RETURN(const KeyOwner::Impl* impl, SharedImpl(owner));
  if (FileExists(path)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists: shares are never overwritten, choose another file"));
  }
  const KeyShare& old = *impl->held().share();
  const Rings& rings = impl->rings();
  HEFT_ASSIGN_OR_RETURN(const std::vector<Message> read, ReadMessages(impl->ceremony(), messages));
  const Ceremony next = NextCeremony(impl->ceremony(), read);
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, owner.Signer());
  if (next.owner(old.owner()).signer != signer.public_key()) {
    return absl::FailedPreconditionError(
        absl::StrCat("owner ", old.owner(), " is replaced by these messages: it gets no share"));
  }
  Wiped sealed;
  HEFT_RETURN_IF_ERROR(AskPassphrase(passphrase, &sealed));
  const auto blank = [&](const Instance& ring) {
    return ckks::SecretShare::Create(*ring.context, old.owner());
  };
  HEFT_ASSIGN_OR_RETURN(auto own, SecureVector<uint8_t>::Create(old.own.size()));
  std::copy_n(old.own.data(), old.own.size(), own.data());
  HEFT_ASSIGN_OR_RETURN(auto large, blank(rings.enrolment));
  HEFT_ASSIGN_OR_RETURN(auto small, blank(rings.matching));
  for (const Message& message : read) {
    const Message::Box& box = message.boxes[old.owner() - 1];
    HEFT_ASSIGN_OR_RETURN(const auto packed, OpenBox(impl->held(), box.sealed));
    if (HashBytes(packed.span()) != box.digest) {
      return absl::DataLossError(
          absl::StrCat("owner ", message.from, " sealed another share than it commits to"));
    }
    HEFT_ASSIGN_OR_RETURN(auto more, blank(rings.enrolment));
    HEFT_ASSIGN_OR_RETURN(auto fewer, blank(rings.matching));
    HEFT_RETURN_IF_ERROR(UnpackShares(rings, packed.span(), &more, &fewer));
    ckks::AddShare(*rings.enrolment.context, more, &large);
    ckks::AddShare(*rings.matching.context, fewer, &small);
  }
  KeyShare share = {old.key_id, {}, std::move(own), std::move(large), std::move(small)};
  HEFT_ASSIGN_OR_RETURN(share.ceremony, signer.Sign({.role = Role::kKeyOwner}, next.Serialize()));
  // The new record, for a later successor of one of the owners.
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(path + ".ceremony", ByteSpan(share.ceremony)));
  return WriteShare(rings, share, sealed.text, path);
}

absl::StatusOr<SignerKey> MakeBlankShare(const Model& model, std::span<const uint8_t> record,
                                         uint32_t owner, const std::string& path,
                                         const PassphraseSource& passphrase) {
  HEFT_ASSIGN_OR_RETURN(const SignedCeremony read, ReadCeremony(record, "the ceremony's record"));
  if (owner < 1 || owner > read.ceremony.owners.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("owner ", owner, ": this key has owners 1 to ", read.ceremony.owners.size()));
  }
  for (const std::string& file : {path, path + kJournalSuffix}) {
    if (FileExists(file)) {
      return absl::AlreadyExistsError(absl::StrCat(file, " exists: choose another file"));
    }
  }
  Wiped sealed;
  HEFT_RETURN_IF_ERROR(AskPassphrase(passphrase, &sealed));
  if (const size_t end = path.rfind('/'); end != path.npos && end > 0) {
    HEFT_RETURN_IF_ERROR(MakeDirectories(path.substr(0, end)));
  }
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(model));
  HEFT_ASSIGN_OR_RETURN(auto own, NewOwnSecret());
  HEFT_ASSIGN_OR_RETURN(auto large, ckks::SecretShare::Create(*rings.enrolment.context, owner));
  HEFT_ASSIGN_OR_RETURN(auto small, ckks::SecretShare::Create(*rings.matching.context, owner));
  KeyShare share = {read.ceremony.key_id,
                    {record.begin(), record.end()},
                    std::move(own),
                    std::move(large),
                    std::move(small)};
  const HeldKey held(std::move(share));
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, OwnerSigner(held));
  HEFT_RETURN_IF_ERROR(
      WriteNewShare(rings, held, sealed.text, path, "in place of an owner of a shared key"));
  return signer.public_key();
}

}  // namespace heft
