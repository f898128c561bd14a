// SPDX-License-Identifier: Apache-2.0
// KeyOwner::Impl: the secret key and its openings. Slots that carry no answer are masked before
// anything leaves a function that decrypts; raw slots, which carry the noise of the ciphertext,
// leave by one function alone, which says so in its name (SECURITY.md).
#ifndef HEFT_OWNER_KEY_OWNER_IMPL_H_
#define HEFT_OWNER_KEY_OWNER_IMPL_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/bytes.h"
#include "base/envelope.h"
#include "base/status.h"
#include "ckks/encoder.h"
#include "ckks/owner/flooding.h"
#include "ckks/owner/secret_key.h"
#include "fusion/owner/key_share.h"
#include "fusion/owner/keygen.h"
#include "fusion/rings.h"
#include "fusion/samples.h"
#include "gallery/admission.h"
#include "gallery/renewal.h"
#include "gallery/scores.h"
#include "heft/key_owner.h"
#include "owner/best_places.h"
#include "owner/budget_use.h"
#include "owner/canaries.h"
#include "owner/ceremony.h"
#include "owner/complete_replies.h"
#include "owner/opener.h"
#include "owner/part_file.h"
#include "owner/query_journal.h"
#include "owner/rejections.h"

namespace heft {

// A published score: a multiple of kScoreStep.
double RoundScore(double score);

// kDecisionBlur: a decision uses the score with fresh Gaussian noise of this standard deviation. It
// is too little to change a rate, and large beside the error of a ciphertext (KeyUnits).
inline constexpr double kDecisionBlur = 2 * kScoreStep;
// KeyUnits: what one published number can tell of the secret key at most, through the error of its
// ciphertext, of standard deviation `error`, in units of 1/kKeyUnits bit, rounded up: a decision,
// as much as passes a channel with the noise of the blur; a rounded score, its entropy, and at
// least a bit.
uint32_t KeyUnits(bool decision, double error);
// MostKeyUnits: that a uniform ternary secret of this degree has.
uint64_t MostKeyUnits(uint32_t degree);

// kFloodedProofs: of norms of templates that wait, that an adversary may see opened under one key
// of a profile that floods; of a shared key one t-th of these, as t floods add up, and of a joint
// one of n secrets one n-th of that, as its errors are larger.
inline constexpr uint64_t kFloodedProofs = 1'000'000;
// kProofsOfABatch: a proof in bulk, of up to thousands of templates, counts as so many.
inline constexpr uint64_t kProofsOfABatch = 10;
// kProofNoise: that a slot of one template's proof can live with: a part has 0.7 of it, ReadNorm
// takes the mean of thousands of slots, and each may be off by 9 times a part's. kBatchNoise: of a
// proof in bulk, where a template has one slot, and the difference of its two parts grows
// threefold.
inline constexpr double kProofNoise = 3e-3;
inline constexpr double kBatchNoise = 1e-3;

// OwnerSigner: the key that the holder signs with. OwnerSeed: its seed, also of the key under which
// other owners seal shares for it.
// The second one is of a share's `own`.
absl::StatusOr<SigningKey> OwnerSigner(const HeldKey& held);
absl::StatusOr<SigningKey> OwnerSigner(const SecureVector<uint8_t>& own);
absl::StatusOr<SecureVector<uint8_t>> OwnerSeed(const HeldKey& held);

class KeyOwner::Impl {
 public:
  // Without `journal` the owner counts in memory, against the default limits, as long as it lives.
  static absl::StatusOr<std::unique_ptr<Impl>> Create(
      const Model& model, Rings rings, HeldKey held,
      std::unique_ptr<QueryJournal> journal = nullptr);
  // The same, with keys that are loaded already.
  static absl::StatusOr<KeyOwner> Own(const Model& model, HeldKey held,
                                      std::unique_ptr<QueryJournal> journal = nullptr);

  const Model& model() const { return model_; }
  const Rings& rings() const { return rings_; }
  const HeldKey& held() const { return held_; }
  // RequireSecretKey: kFailedPrecondition where a share alone is held, which cannot do `what`.
  absl::Status RequireSecretKey(std::string_view what) const;
  // Of a whole key only.
  const SecretKeys& keys() const { return *held_.whole(); }
  const ckks::KeyId& key_id() const { return held_.key_id(); }
  // Of a share only.
  const SignedCeremony& ceremony() const { return *ceremony_; }
  const Ceremony* CeremonyOrNull() const { return ceremony_ ? &ceremony_->ceremony : nullptr; }
  // Of gallery and replies.
  const Instance& instance() const { return rings_.matching; }
  const ckks::SecretKey& key() const { return keys().matching(); }
  QueryJournal& journal() const { return *journal_; }
  // MostProofs: of norms that may be opened under this key; 0: any number.
  uint64_t MostProofs() const;
  absl::StatusOr<SigningKey> Signer() const;
  // SignHeads: from here on the journal's head lies beside it, signed. SignedHead: it; empty in
  // memory. OpenHeads: that a server has shown, if any: this owner's own.
  void SignHeads();
  absl::StatusOr<std::vector<uint8_t>> SignedHead() const;
  absl::StatusOr<std::vector<SignedJournalHead>> OpenHeads(ByteSpan shown,
                                                           std::string_view what) const;
  absl::Status RequireSigned(Trust trust);
  const std::optional<Trust>& trust() const { return trust_; }
  void RequireSignedGallery() { signed_gallery_ = true; }
  absl::StatusOr<CanarySet> MakeCanaries(size_t triples, std::vector<std::string> names) const;
  absl::Status RequireCanaries(ByteSpan file, std::string_view what);
  const std::optional<Canaries>& canaries() const { return canaries_; }

  absl::StatusOr<std::vector<uint8_t>> Encrypt(const EncodableRows& rows,
                                               std::span<const std::string> labels) const;
  // GivenParts: partial openings of other owners, or who gets them. `needed`: each of them must
  // have an opening of each of these ciphertexts.
  struct GivenParts {
    std::span<const ReplyFile> files;
    const PartSource* source = nullptr;
    std::span<const CiphertextName> needed = {};
  };
  absl::StatusOr<Admissions> Approve(ByteSpan request, std::string_view what,
                                     const ApprovalPolicy& policy, const GivenParts& parts) const;
  absl::StatusOr<AdmissionInquiry> ReadInquiry(ByteSpan request, std::string_view what) const;
  absl::StatusOr<RenewedBlocks> Renew(ByteSpan request, std::string_view what,
                                      const GivenParts& parts) const;
  // Purpose: which results of a reply are published.
  struct Purpose {
    bool decision = false;     // of the best candidate, and no score
    uint32_t publish = 1;      // candidates of an identification
    bool likelihood = false;   // of the decision
    std::string besides = {};  // an identity that is no candidate; empty: all are
    GalleryId gallery{};       // that must be the key's own; zeros: it was named
    bool given = false;        // this owner's part, which another one combines
  };
  absl::StatusOr<OpenedScores> Open(const Replies& replies, const std::optional<Flooding>& flooding,
                                    const Purpose& purpose) const;
  absl::StatusOr<Decision> Decide(const Replies& replies, const DecisionRule& rule,
                                  const std::optional<Flooding>& flooding) const;
  // Blur: adds the noise of kDecisionBlur to score and ratio.
  void Blur(uint32_t modalities, Candidate* candidate) const;
  absl::StatusOr<ChosenThreshold> ThresholdFor(const Replies& replies,
                                               const DecisionRule& rule) const;
  // Of a share: this owner's part of what Decide (`rule`) or Open would open, of what Approve would
  // (parts.cc). Charged and recorded before it is made.
  absl::StatusOr<std::vector<uint8_t>> OpenPart(const Replies& replies, const OwnerSet& set,
                                                const std::optional<DecisionRule>& rule,
                                                uint32_t publish,
                                                const std::optional<Flooding>& flooding) const;
  absl::StatusOr<std::vector<uint8_t>> ApprovePart(ByteSpan request, std::string_view what,
                                                   const OwnerSet& set,
                                                   const ApprovalPolicy& policy) const;
  absl::StatusOr<std::vector<uint8_t>> RenewPart(ByteSpan request, std::string_view what,
                                                 const OwnerSet& set) const;
  // CheckOwnSet: that this owner has a share and is one of the set, which is of the right size.
  absl::Status CheckOwnSet(const OwnerSet& set) const;
  // SignPart: makes the file of this owner's part.
  absl::StatusOr<std::vector<uint8_t>> SignPart(
      PartSubject subject, const OwnerSet& set, std::vector<PartialOpening> openings,
      RenewalPart renewal = {}, std::optional<ckks::SeededSwitchKey> rekeying = {}) const;
  // ReadParts: of a share: the parts of all others of a set: signed, of this ceremony and this
  // subject; one at least. kFailedPrecondition, kDataLoss, kInvalidArgument.
  absl::StatusOr<std::vector<PartFile>> ReadParts(
      const PartSubject& subject, std::span<const ReplyFile> files,
      std::span<const CiphertextName> needed = {}) const;
  // Slots as they are decrypted, unrounded, those without an answer zero; one vector a reply.
  // **They carry the noise from which the secret key can be computed** (SECURITY.md): for
  // measurements by the key owner, never to be shown to anybody. Charged like Open, of one
  // candidate.
  absl::StatusOr<std::vector<std::vector<ckks::Complex>>> OpenRawSlotsUnsafe(
      ByteSpan scores, std::string_view what) const;

 private:
  // Where files must be signed: of a good one of this kind the file in it, and who asked for it.
  struct TrustedReply {
    ByteSpan file{};
    Hash hash{};                           // of it; signed again it is the same file
    Checksum checksum = Checksum::kCheck;  // of it
    SignerKey client{};                    // zeros: unknown
    std::optional<GalleryId> gallery{};    // that it is signed for
    uint64_t generation = 0;
    std::optional<Digest> request{};  // that it claims to answer, also without a trust file
  };
  absl::StatusOr<TrustedReply> CheckSigned(ByteSpan bytes, std::string_view kind,
                                           std::string_view what) const;
  // Of each template, what its proofs say against it.
  std::vector<Finding> Flaws(const EnrolmentCheck& check, const Opener& opener) const;
  // Proof: of a norm, as it is opened.
  struct Proof {
    RingName ring = RingName::kMatching;
    ckks::Ciphertext ciphertext;
    NoiseFlooding flooding;
  };
  // kFailedPrecondition for a ciphertext that has not the form of a proof.
  absl::StatusOr<Proof> PreparedProof(RingName ring, const ckks::Ciphertext& proof,
                                      double noise) const;
  // Slots of an admission's proof, to be wiped by the caller.
  absl::StatusOr<std::vector<ckks::Complex>> OpenProof(const Opener& opener, RingName ring,
                                                       const ckks::Ciphertext& proof,
                                                       double noise) const;
  // PartsOf: as ReadParts; a source is asked until its parts are taken.
  absl::StatusOr<std::vector<PartFile>> PartsOf(const PartSubject& subject,
                                                const GivenParts& given) const;
  // CheckNoParts: of a whole key, which takes none.
  static absl::Status CheckNoParts(const GivenParts& given);
  absl::StatusOr<std::unique_ptr<Opener>> OpenerOf(const PartSubject& subject,
                                                   const GivenParts& given) const;
  absl::StatusOr<PartFile> ReadPart(const PartSubject& subject, const ReplyFile& file,
                                    std::span<const CiphertextName> needed) const;
  // NeededParts: of all proofs of these enrolments that have form and room.
  std::vector<CiphertextName> NeededParts(std::span<const EnrolmentCheck* const> enrolments) const;
  // Doubted: a refusal says that with a shared key it may be the fault of a partial opening.
  OpenedScores Doubted(OpenedScores scores) const;
  // Owners who open together: 1 of a whole key.
  uint32_t Parts() const { return ceremony_ ? ceremony_->ceremony.threshold : 1; }
  // Witnesses: the owners that may each give parts of the same ciphertexts to the same others.
  // These see all such parts, so a journal ends after this fraction of what the noise is for.
  uint32_t Witnesses() const {
    return ceremony_ ? static_cast<uint32_t>(ceremony_->ceremony.owners.size()) - Parts() + 1 : 1;
  }
  // Owners whose secrets add up to the key: 1 of a whole or dealt key.
  uint32_t Secrets() const { return ceremony_ ? ceremony_->ceremony.secrets : 1; }
  // The request that a server has sent, if it belongs here.
  absl::StatusOr<AdmissionRequest> ReadAdmissionRequest(ByteSpan request,
                                                        std::string_view what) const;
  // AskedRenewal: a request that has passed all checks before its blocks are opened.
  struct AskedRenewal {
    RenewalRequest request;
    PartSubject subject;
  };
  absl::StatusOr<AskedRenewal> CheckRenewal(ByteSpan request, std::string_view what) const;
  // RenewalReference: of MakeRenewalPart.
  Hash RenewalReference(const PartSubject& subject, const OwnerSet& set) const;
  // OwnRenewalPart: recorded before it is made, once for a request.
  absl::StatusOr<RenewalPart> OwnRenewalPart(const AskedRenewal& asked, const OwnerSet& set) const;
  // AskedAdmission: a request that has passed all checks before its proofs are opened.
  struct AskedAdmission {
    AdmissionRequest request;
    PartSubject subject;
  };
  absl::StatusOr<AskedAdmission> CheckAdmission(ByteSpan request, std::string_view what,
                                                const ApprovalPolicy& policy) const;
  // RecordState: in the journal, before it is signed.
  absl::Status RecordState(const AdmissionRequest& request, const ApprovalPolicy& policy) const;
  // What else speaks against template `i`.
  Finding Objection(const AdmissionRequest& request, const EnrolmentCheck& check, size_t i,
                    const ApprovalPolicy& policy) const;
  // Whether a trusted registrar allows a template of this identity in the enrolment.
  bool IsAuthorised(const GalleryId& gallery, const EnrolmentCheck& check,
                    const std::string& identity) const;
  // AdmissionInquiry::Enrolment::client.
  std::string ClientName(const SignerKey& client) const;
  // CheckReplies: of each reply, as CheckSigned.
  absl::StatusOr<std::vector<TrustedReply>> CheckReplies(const Replies& replies) const;
  // Read: parses, and checks that the replies belong here and are the whole answer; never none.
  // ReadOne: of one of them. CheckBelongs: whether it is of this key and model.
  absl::StatusOr<std::vector<ReadReply>> Read(const Replies& replies,
                                              const std::vector<TrustedReply>& trusted) const;
  absl::StatusOr<ReadReply> ReadOne(const TrustedReply& trusted, std::string_view what) const;
  absl::Status CheckBelongs(const EncryptedScores& scores, std::string_view what) const;
  // The gallery as a whole.
  static GalleryId GalleryOf(const Replies& replies, const std::vector<ReadReply>& read) {
    return replies.shards ? replies.shards->Id() : read[0].scores.origin.gallery;
  }
  // The gallery of replies for which none was named. Zeros if a shard list or the trust file names
  // it, or if signatures are not checked, because a gallery's id then proves nothing.
  GalleryId GalleryWithoutName(const Replies& replies, const std::vector<ReadReply>& read) const {
    const bool named = replies.shards || !trust_ || !trust_->galleries().empty();
    return named ? GalleryId{} : read[0].scores.origin.gallery;
  }
  // CheckDecidable: whether the rule is sound and of the scores' kind, and the model has the
  // tables.
  absl::Status CheckDecidable(const EncryptedScores& scores, std::string_view what,
                              const DecisionRule& rule) const;
  // The threshold that a rule means for them. CheckDecidable's errors.
  absl::StatusOr<ChosenThreshold> ThresholdOf(const std::vector<ReadReply>& replies,
                                              const DecisionRule& rule) const;
  // Question: replies and a question about them, which passed all checks before an opening.
  struct Question {
    std::vector<ReadReply> replies;
    Purpose purpose;
    GalleryId gallery{};
    ChosenThreshold threshold;  // of a decision
    uint32_t modalities = 0;
    PartSubject subject;
  };
  absl::StatusOr<Question> Ask(const Replies& replies, const std::vector<TrustedReply>& trusted,
                               const Purpose& purpose,
                               const std::optional<DecisionRule>& rule) const;
  // Asked: a question, and who opens its replies.
  struct Asked {
    Question question;
    std::unique_ptr<Opener> opener;
  };
  // CheckAnswerable: checks by the beginning of one reply whether this owner can answer a question
  // about it, and has a budget left for it. The others charge each reply that they can open, and
  // their tables may differ.
  absl::Status CheckAnswerable(const TrustedReply& trusted, std::string_view what, Purpose purpose,
                               const std::optional<DecisionRule>& rule,
                               const std::optional<Flooding>& flooding) const;
  // AskTogether: gets the parts of the other owners too. A source is asked while this owner reads
  // an unopened reply that it can answer; it reads those of several buckets first.
  absl::StatusOr<Asked> AskTogether(const Replies& replies, const Purpose& purpose,
                                    const std::optional<DecisionRule>& rule,
                                    const std::optional<Flooding>& flooding) const;
  // Accepted: replies that may be opened, and have been charged for, as one search.
  struct Accepted {
    std::vector<ReadReply> replies;
    Opening opening;
    NoiseFlooding flooding;
  };
  // OpeningOf: as it is charged.
  Opening OpeningOf(const std::vector<ReadReply>& replies, const std::optional<Flooding>& flooding,
                    const Purpose& purpose) const;
  // Checks that they can be opened as asked, and charges.
  absl::StatusOr<Accepted> Accept(std::vector<ReadReply> replies,
                                  const std::optional<Flooding>& flooding,
                                  const Purpose& purpose) const;
  // Opens the replies that Accept takes. Scores are charged here before they are published. The
  // caller charges a decision, once it is made, by the `opening`.
  absl::StatusOr<OpenedScores> OpenRead(Question question, const Opener& opener,
                                        const std::optional<Flooding>& flooding,
                                        Opening* opening) const;
  // FewAsked: who answer a search if its client has chosen conditions that leave fewer than
  // kFewPeople; otherwise none. Each of them is as good as claimed.
  std::vector<std::string> FewAsked(const std::vector<ReadReply>& replies,
                                    const std::string& besides) const;
  // ListedClient: who is charged: kUnlistedClient for one that the trust file does not list where
  // it lists clients.
  ClientId ListedClient(const ClientId& client) const;
  // Found: the decrypted scores of accepted replies, before they are ranked.
  struct Found {
    // Best: of one person; its name is a view of the reply's.
    struct Best {
      double score = 0;
      uint32_t templates = 0;
    };
    absl::flat_hash_map<std::string_view, Best> best;
    std::multimap<std::string, double> canaries;  // with their cosines
    // Places without a name are candidates too. Only those that may be published are kept, so that
    // a large gallery takes no memory here; and their number in all.
    BestPlaces places;
    uint64_t unnamed = 0;
  };
  // Adds the scores of one reply to a probe of length `length`; in `refusal` why they are refused.
  absl::Status OpenScores(const ReadReply& reply, double length, const Decryption& decryption,
                          const Purpose& purpose, Found* found, std::string* refusal) const;
  // FloodingFor: as asked for, and where the profile floods no less than by default.
  std::optional<Flooding> FloodingFor(const std::optional<Flooding>& asked) const;
  // Charges the ranked candidates that are published, and leaves out the rest.
  absl::Status Publish(const Opening& opening, OpenedScores* scores) const;
  // Refused: by its scores. The result names no one, but the best candidate is charged. Otherwise a
  // server that makes scores up under invented clients could learn, again and again and at no cost,
  // whether a multiple of a template's score is above a bound. A refusal by the probe's norm tells
  // nothing about people. A refused claim is a rejection, which Accept has charged.
  absl::StatusOr<OpenedScores> Refused(const Opening& opening, std::vector<Candidate> best,
                                       OpenedScores scores) const;
  // Decrypted slots, to be wiped by the caller. `brief`: of a short reply; none where its
  // coefficients had no room.
  absl::StatusOr<std::vector<ckks::Complex>> OpenSlots(const ckks::Ciphertext& ciphertext,
                                                       const Decryption& decryption,
                                                       bool brief) const;
  // The same of a reply, signs taken back, with everything zero that is no answer. None, and why in
  // `refusal`, where it had no room.
  absl::StatusOr<std::vector<ckks::Complex>> OpenReply(const ScoreReply& reply,
                                                       const Decryption& decryption,
                                                       std::string* refusal) const;
  // Best first, of equal scores by name, with what a score says for a match of a probe with these
  // modalities.
  void Rank(uint32_t modalities, std::vector<Candidate>* candidates) const;

  // |z|^2 of the probe; in `refusal` why it is not that of a sound one.
  absl::StatusOr<double> OpenNorm(const EncryptedScores& scores, const Decryption& decryption,
                                  std::string* refusal) const;

  Impl(const Model& model, Rings rings, HeldKey held, std::unique_ptr<QueryJournal> journal)
      : model_(model),
        model_id_(model.Id()),
        flooded_(FindProfile(model.profile)->flooded),  // of a model that has rings
        rings_(std::move(rings)),
        held_(std::move(held)),
        journal_(std::move(journal)),
        defaults_(DefaultLimits(model)),
        no_scores_(WhyNoScores(model)) {}

  Model model_;
  ModelId model_id_;  // of it: a hash of all its numbers
  bool flooded_;
  Rings rings_;
  HeldKey held_;
  std::optional<SignedCeremony> ceremony_;  // of a share
  std::unique_ptr<QueryJournal> journal_;
  BudgetLimits defaults_;
  std::string no_scores_;
  std::optional<Trust> trust_;   // whose replies to take; none: anybody's
  SignerKey public_key_{};       // for which replies are made, where there is `trust_`
  bool signed_gallery_ = false;  // no reply of a state that is not signed
  std::optional<Canaries> canaries_;
};

}  // namespace heft

#endif  // HEFT_OWNER_KEY_OWNER_IMPL_H_
