// SPDX-License-Identifier: Apache-2.0
// A shared key: partial openings that an owner gives, and those of others that it takes. All checks
// and charges are those of an opening with a whole key.
#include <algorithm>
#include <future>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/signed_file.h"
#include "heft/server.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

// QuestionDigest: of all options that decide about the published output.
Digest QuestionDigest(const KeyOwner::Impl::Purpose& purpose,
                      const std::optional<DecisionRule>& rule) {
  const auto number = [](const std::optional<double>& x) {
    return x ? absl::StrFormat("%.17g", *x) : std::string("none");
  };
  std::string text = purpose.decision ? "decision" : absl::StrCat("scores of ", purpose.publish);
  if (rule) {
    absl::StrAppend(&text, "; score ", number(rule->score), "; fmr ", number(rule->fmr), "; fpir ",
                    number(rule->fpir), rule->likelihood ? "; likelihood" : "",
                    rule->others ? "; others" : "");
  }
  return HashBytes(AsBytes(text));
}

// SetOf: the owners whose parts `files` are, with this one: exactly those that each of them names.
absl::Status CheckComplete(const Ceremony& ceremony, uint32_t own,
                           const std::vector<PartFile>& parts) {
  const ckks::OwnerSet& set = parts[0].set;
  HEFT_RETURN_IF_ERROR(ckks::CheckOwnerSet(ceremony.sharing(), set));
  if (std::ranges::count(set, own) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the partial openings are for owners ", OwnersText(set),
                     ": one of them combines, and this is owner ", own));
  }
  ckks::OwnerSet given = {own};
  for (const PartFile& part : parts) {
    if (part.set != set) {
      return absl::FailedPreconditionError(
          absl::StrCat("the partial openings of owners ", parts[0].owner, " and ", part.owner,
                       " are for different sets of owners (", OwnersText(set), "; ",
                       OwnersText(part.set), "): ask both for the same --owners"));
    }
    if (std::ranges::count(given, part.owner) > 0) {
      return absl::FailedPreconditionError(
          part.owner == own ? absl::StrCat("a partial opening of owner ", own,
                                           ", which is this one: give those ", "of the others")
                            : absl::StrCat("two partial openings of owner ", part.owner,
                                           ": each of the others gives one"));
    }
    given.push_back(part.owner);
  }
  for (const uint32_t owner : set) {
    if (std::ranges::count(given, owner) > 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the partial opening of owner ", owner, " is missing: this key opens with ",
                     ceremony.threshold, " of ", ceremony.owners.size(), " owners"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KeyOwner::Impl::Question> KeyOwner::Impl::Ask(
    const Replies& replies, const std::vector<TrustedReply>& trusted, const Purpose& purpose,
    const std::optional<DecisionRule>& rule) const {
  Question out;
  out.purpose = purpose;
  HEFT_ASSIGN_OR_RETURN(out.replies, Read(replies, trusted));
  const EncryptedScores& first = out.replies[0].scores;
  if (rule) {
    HEFT_ASSIGN_OR_RETURN(out.threshold, ThresholdOf(out.replies, *rule));
    out.purpose.likelihood = rule->likelihood;
    if (rule->others) out.purpose.besides = first.probe;
  }
  out.purpose.gallery = GalleryWithoutName(replies, out.replies);
  out.gallery = GalleryOf(replies, out.replies);
  out.modalities = first.modalities;
  out.subject.question = QuestionDigest(out.purpose, rule);
  for (const ReadReply& reply : out.replies) {
    const ReplyOrigin& origin = reply.scores.origin;
    out.subject.files.push_back(reply.hash);
    out.subject.states.push_back({origin.gallery, origin.generation, origin.root});
  }
  return out;
}

absl::Status KeyOwner::Impl::CheckAnswerable(const TrustedReply& trusted, std::string_view what,
                                             Purpose purpose,
                                             const std::optional<DecisionRule>& rule,
                                             const std::optional<Flooding>& flooding) const {
  std::vector<ReadReply> about(1);
  about[0].client = trusted.client;
  about[0].hash = trusted.hash;
  EncryptedScores& scores = about[0].scores;
  HEFT_ASSIGN_OR_RETURN(scores, ParseAboutScores(*instance().context, trusted.file, what));
  HEFT_RETURN_IF_ERROR(CheckBelongs(scores, what));
  if (rule) {
    HEFT_RETURN_IF_ERROR(CheckDecidable(scores, what, *rule));
    purpose.likelihood = rule->likelihood;
  }
  Opening opening = OpeningOf(about, FloodingFor(flooding), purpose);
  opening.strict = false;  // the state is read with the rest of the reply
  return journal_->CheckCharge(opening);
}

absl::StatusOr<KeyOwner::Impl::Asked> KeyOwner::Impl::AskTogether(
    const Replies& replies, const Purpose& purpose, const std::optional<DecisionRule>& rule,
    const std::optional<Flooding>& flooding) const {
  HEFT_ASSIGN_OR_RETURN(const std::vector<TrustedReply> trusted, CheckReplies(replies));
  std::future<absl::StatusOr<std::vector<OwnerPart>>> first;
  if (replies.source != nullptr && ceremony_) {
    std::vector<Digest> files;
    for (const TrustedReply& reply : trusted) files.push_back(reply.hash);
    HEFT_RETURN_IF_ERROR(journal_->CheckUnopened(files));
    auto when = std::launch::deferred;
    if (replies.shards == nullptr && files.size() == 1) {
      HEFT_RETURN_IF_ERROR(
          CheckAnswerable(trusted[0], replies.files[0].what, purpose, rule, flooding));
      when |= std::launch::async;  // deferred all the same where there is no thread
    }
    first = std::async(when, [&] { return (*replies.source)(absl::OkStatus()); });
  }
  const PartSource source = [&](const absl::Status& refused) {
    return refused.ok() ? first.get() : (*replies.source)(refused);
  };
  Asked out;
  HEFT_ASSIGN_OR_RETURN(out.question, Ask(replies, trusted, purpose, rule));
  if (first.valid()) {  // those of several buckets are all read before a source is asked
    HEFT_RETURN_IF_ERROR(journal_->CheckCharge(
        OpeningOf(out.question.replies, FloodingFor(flooding), out.question.purpose)));
  }
  HEFT_ASSIGN_OR_RETURN(out.opener,
                        OpenerOf(out.question.subject,
                                 {replies.parts, replies.source == nullptr ? nullptr : &source}));
  return out;
}

OpenedScores KeyOwner::Impl::Doubted(OpenedScores scores) const {
  if (!ceremony_) return scores;
  absl::StrAppend(&scores.refusal,
                  "; or a partial opening is false: ask the server again, and open its new reply "
                  "with other owners");
  return scores;
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::Impl::SignPart(
    PartSubject subject, const OwnerSet& set, std::vector<PartialOpening> openings,
    RenewalPart renewal, std::optional<ckks::SeededSwitchKey> rekeying) const {
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
  Statement statement;
  statement.role = Role::kKeyOwner;
  if (!subject.states.empty()) {
    statement.gallery = subject.states[0].gallery;
    statement.generation = subject.states[0].generation;
  }
  statement.expires = UnixTime() + kAdmissionLife;
  PartFile file;
  file.key_id = key_id();
  file.ceremony = ceremony_->digest;
  file.owner = held_.share()->owner();
  file.set = set;
  file.subject = std::move(subject);
  file.openings = std::move(openings);
  file.renewal = std::move(renewal);
  file.rekeying = std::move(rekeying);
  return SignWritten(signer, statement, file.Size(rings_),
                     [&](ByteWriter& writer) { return file.Write(rings_, &writer); });
}

absl::Status KeyOwner::Impl::CheckOwnSet(const OwnerSet& set) const {
  if (!ceremony_) {
    return absl::FailedPreconditionError(
        "this is a whole key, which opens alone: heft decrypt (partial openings are of keys that "
        "heft keygen --owners shares)");
  }
  HEFT_RETURN_IF_ERROR(ckks::CheckOwnerSet(ceremony_->ceremony.sharing(), set));
  if (std::ranges::count(set, held_.share()->owner()) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("owner ", held_.share()->owner(),
                                                 ", which this share is of, is not one of ",
                                                 OwnersText(set)));
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::Impl::OpenPart(
    const Replies& replies, const OwnerSet& set, const std::optional<DecisionRule>& rule,
    uint32_t publish, const std::optional<Flooding>& flooding) const {
  HEFT_RETURN_IF_ERROR(CheckOwnSet(set));
  const Purpose purpose = rule ? Purpose{/*decision=*/true, 1} : Purpose{false, publish};
  HEFT_ASSIGN_OR_RETURN(const std::vector<TrustedReply> trusted, CheckReplies(replies));
  HEFT_ASSIGN_OR_RETURN(Question question, Ask(replies, trusted, purpose, rule));
  question.purpose.given = true;
  HEFT_ASSIGN_OR_RETURN(const Accepted accepted, Accept(std::move(question.replies),
                                                        FloodingFor(flooding), question.purpose));
  std::vector<PartialOpening> openings;
  const auto open = [&](const ckks::Ciphertext& ciphertext) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(PartialOpening opening,
                          OpenPartially(rings_, *held_.share(), set, RingName::kMatching,
                                        ciphertext, accepted.flooding));
    openings.push_back(std::move(opening));
    return absl::OkStatus();
  };
  for (const ReadReply& reply : accepted.replies) {
    HEFT_RETURN_IF_ERROR(open(reply.scores.norm));
    for (const ScoreReply& block : reply.scores.replies) HEFT_RETURN_IF_ERROR(open(block.scores));
  }
  return SignPart(std::move(question.subject), set, std::move(openings));
}

absl::StatusOr<PartFile> KeyOwner::Impl::ReadPart(const PartSubject& subject, const ReplyFile& file,
                                                  std::span<const CiphertextName> needed) const {
  const Ceremony& ceremony = ceremony_->ceremony;
  const std::string what(file.what);
  HEFT_ASSIGN_OR_RETURN(const Trust owners, ceremony.Signers());
  HEFT_ASSIGN_OR_RETURN(
      const SignedFile opened,
      OpenBySignature(file.bytes, owners,
                      {.roles = {Role::kKeyOwner}, .kind = std::string(kPartKind)}, what));
  HEFT_ASSIGN_OR_RETURN(PartFile part,
                        PartFile::Parse(rings_, opened.file, what, Checksum::kKnown));
  const auto refuse = [&](std::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": a partial opening ", std::string(why)));
  };
  if (trust_ && trust_->IsRevoked(opened.signer)) {
    return refuse("of an owner whose key the trust file revokes");
  }
  if (part.key_id != key_id()) return refuse("under another key");
  if (part.ceremony != ceremony_->digest) {
    return refuse(
        "with a share of another ceremony: the shares were renewed since, or this one is the older "
        "one; use the newest shares");
  }
  if (part.owner < 1 || part.owner > ceremony.owners.size() ||
      ceremony.owner(part.owner).signer != opened.signer) {
    return refuse("signed by another owner than it states");
  }
  const std::string mismatch = Mismatch(subject, part.subject);
  if (!mismatch.empty()) return refuse(mismatch);
  std::set<CiphertextName> opened_names;
  for (const PartialOpening& opening : part.openings) opened_names.insert(opening.ciphertext);
  for (const CiphertextName& name : needed) {
    if (opened_names.contains(name)) continue;
    return refuse(
        "that lacks one of the ciphertexts: ask its owner for another one, with the same files and "
        "options");
  }
  return part;
}

absl::StatusOr<std::vector<PartFile>> KeyOwner::Impl::ReadParts(
    const PartSubject& subject, std::span<const ReplyFile> files,
    std::span<const CiphertextName> needed) const {
  const Ceremony& ceremony = ceremony_->ceremony;
  if (files.empty()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "this is owner %d's share of a key that opens with %d of %d owners: get the partial "
        "openings of %d others (heft decrypt or heft answer, with --owners) and give them with "
        "--part",
        held_.share()->owner(), ceremony.threshold, ceremony.owners.size(),
        ceremony.threshold - 1));
  }
  std::vector<PartFile> parts;
  for (const ReplyFile& file : files) {
    HEFT_ASSIGN_OR_RETURN(PartFile part, ReadPart(subject, file, needed));
    parts.push_back(std::move(part));
  }
  HEFT_RETURN_IF_ERROR(CheckComplete(ceremony, held_.share()->owner(), parts));
  return parts;
}

absl::StatusOr<std::vector<PartFile>> KeyOwner::Impl::PartsOf(const PartSubject& subject,
                                                              const GivenParts& parts) const {
  if (parts.source == nullptr) return ReadParts(subject, parts.files, parts.needed);
  absl::Status refused;
  while (true) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<OwnerPart> given, (*parts.source)(refused));
    std::vector<ReplyFile> files;
    for (const OwnerPart& part : given) files.push_back({part.bytes, part.what});
    auto read = ReadParts(subject, files, parts.needed);
    if (read.ok()) return read;
    refused = read.status();
  }
}

absl::StatusOr<std::unique_ptr<Opener>> KeyOwner::Impl::OpenerOf(const PartSubject& subject,
                                                                 const GivenParts& given) const {
  if (held_.whole() != nullptr) {
    HEFT_RETURN_IF_ERROR(CheckNoParts(given));
    return std::make_unique<SecretKeyOpener>(rings_, keys());
  }
  HEFT_ASSIGN_OR_RETURN(std::vector<PartFile> parts, PartsOf(subject, given));
  auto opener = std::make_unique<PartsOpener>(rings_, *held_.share(), parts[0].set);
  for (PartFile& part : parts) {
    for (PartialOpening& opening : part.openings) opener->Add(part.owner, std::move(opening));
  }
  return opener;
}

absl::Status KeyOwner::Impl::CheckNoParts(const GivenParts& given) {
  if (given.files.empty() && given.source == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "partial openings for a whole key, which opens alone: leave them out");
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::OpenPart(
    const Replies& replies, const OwnerSet& owners, const DecisionRule& rule,
    const std::optional<Flooding>& flooding) const {
  return impl_->OpenPart(replies, owners, rule, 1, flooding);
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::OpenPart(
    const Replies& replies, const OwnerSet& owners, uint32_t publish,
    const std::optional<Flooding>& flooding) const {
  return impl_->OpenPart(replies, owners, {}, publish, flooding);
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::ApprovePart(std::span<const uint8_t> request,
                                                           std::string_view what,
                                                           const OwnerSet& owners,
                                                           const ApprovalPolicy& policy) const {
  return impl_->ApprovePart(request, what, owners, policy);
}

std::optional<SharedKey> KeyOwner::shared() const {
  if (impl_->held().share() == nullptr) return std::nullopt;
  const Ceremony& ceremony = impl_->ceremony().ceremony;
  return SharedKey{impl_->held().share()->owner(), static_cast<uint32_t>(ceremony.owners.size()),
                   ceremony.threshold, ceremony.renewal};
}

}  // namespace heft
