// SPDX-License-Identifier: Apache-2.0
// The key owner's role: it makes the keys, opens the server's replies and decides. What leaves it
// is a decision, or scores rounded and restricted to the templates that answer; every opening is
// recorded and charged to a budget first (SECURITY.md). Link heft::heft, never in a server.
#ifndef HEFT_KEY_OWNER_H_
#define HEFT_KEY_OWNER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/client.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/results.h"
#include "heft/shards.h"
#include "heft/trust.h"

namespace heft {

// kPublishedCandidates: of an identification, unless more are asked for.
inline constexpr uint32_t kPublishedCandidates = 10;

// DecisionRule: what to accept: a score, or rates. The rate that fits the question is used. The
// model turns a rate into a threshold for the gallery that answered.
//
// A search that is restricted by conditions, which its client chooses, is judged by both rates
// where both are given: the higher threshold counts. Where they leave fewer than kFewPeople it must
// be (kFailedPrecondition): one person who is left is as good as claimed.
inline constexpr uint64_t kFewPeople = 10;
struct DecisionRule {
  std::optional<double> score = {};  // this cosine or above, wherever it is from
  std::optional<double> fmr = {};    // false match rate of one comparison: verifications
  std::optional<double> fpir =
      {};  // false positive identification rate of a search: identifications
  // Also says, of who is accepted, how likely. Charged as two of the client's bits.
  bool likelihood = false;
  // Of an identification: the person of the probe's label is no candidate, as if not enrolled. This
  // finds a second name of a person. kInvalidArgument for a probe without a label.
  bool others = false;
};

// ReplyFile: a reply of a server, and its name in errors.
struct ReplyFile {
  std::span<const uint8_t> bytes;
  std::string_view what = "reply";
};

// OwnerPart: another owner's signed partial opening, and its name in errors.
struct OwnerPart {
  std::string what;
  std::vector<uint8_t> bytes;
};
// PartSource: gets the partial openings of all other owners of one set, for files that this owner
// has not opened before and not charged yet; for a decision, it has checked rule and table.
// `refused`: OK at the first call; later, why those of the call before are not taken: get them of
// others. Its error ends the opening. The first call may come from another thread, while this owner
// reads the files. No call lasts longer than the opening.
using PartSource =
    std::function<absl::StatusOr<std::vector<OwnerPart>>(const absl::Status& refused)>;

// Replies: the answer to one question: one reply, or those of the buckets of a gallery
// (heft/shards.h), in any order. Views.
struct Replies {
  std::span<const ReplyFile> files;
  const ShardList* shards = nullptr;  // of a gallery in buckets
  // Of a shared key: the partial openings of all other owners of one set (KeyOwner::OpenPart).
  std::span<const ReplyFile> parts = {};
  const PartSource* source = nullptr;  // instead of `parts`
};

// OwnerSet: owners of a shared key who open together, by their numbers from 1, ascending.
using OwnerSet = std::vector<uint32_t>;
// SharedKey: whose share of a key it is, and how many of its owners open.
struct SharedKey {
  uint32_t owner = 0;      // number of the owner, from 1
  uint32_t owners = 0;     // number of owners of the key
  uint32_t threshold = 0;  // number of owners who open together
  uint32_t renewal = 0;    // how often the shares were renewed
};

// Flooding: noise added on decryption, for so many bits of statistical security (at least 30)
// against an adversary who is shown so many openings under one key; the journal refuses more.
// Replies under a model of profile "flooded" are opened so in any case, and for no fewer than
// these.
struct Flooding {
  int security_bits = 30;
  uint32_t openings = 100000;
};

// DefaultLimits: those of a model until SetBudget: as many scores as keep a template recovered from
// them from being accepted at an FMR of 1e-3 in 1% of cases, as the model's training or calibration
// measured it, in [0, 49]; 0 for a model without this measurement. Of a key in use, a calibration
// that measures less lowers the limit at once, also one that SetBudget set; only SetBudget raises
// it.
HEFT_EXPORT BudgetLimits DefaultLimits(const Model& model);

// ApprovalPolicy: which pending templates to approve. In any case each template must have length 1,
// and a further one for an enrolled identity needs a registrar's authorisation.
struct ApprovalPolicy {
  std::vector<std::string> only = {};    // none but these; empty: all
  std::vector<std::string> reject = {};  // not these
  bool new_identities_only = false;      // not even with an authorisation
  // The gallery was put back from a copy: its state is signed although a later one was.
  bool put_back = false;
  // AdmissionInquiry::Enrolment::entry: none but these; empty: all. And those to be rejected. If
  // several pending enrolments have one new identity, all of them wait until one is among
  // `entries`, the others are rejected, or a registrar's authorisation came with one.
  std::vector<Digest> entries = {}, reject_entries = {};
  // Those that wait in any case. Nothing of them is opened, but they still have their identities.
  std::vector<Digest> hold = {};
  // The gallery is a bucket of these. People who belong into another bucket are rejected.
  std::optional<ShardList> shards = {};
};
// CanarySet: people who do not exist, to be enrolled like anybody else by a client, among others,
// so that the server cannot tell them; and probes with answers that the key owner knows. Only the
// client and the key owner may see these vectors.
struct CanarySet {
  struct Person {
    std::string label;
    std::vector<std::vector<float>> vectors;  // of unit length, one a modality of the model
  };
  std::vector<Person> people;  // three for each triple; the label is the identity
  std::vector<Person> probes;  // one for each triple
  std::vector<uint8_t> file;   // for RequireCanaries, sealed under the secret key
};

// KeyOwner: a model and a secret key, in locked memory where the system grants it. Const calls may
// come from any number of threads.
class HEFT_EXPORT KeyOwner {
 public:
  class HEFT_HIDDEN Impl;

  // A new secret key. Openings are counted in memory, for as long as the object lives.
  static absl::StatusOr<KeyOwner> Generate(const Model& model);
  // The secret key of a file. Openings are recorded beside it in PATH.journal, which MakeKeySet
  // began with the key; without it nothing is opened. kFailedPrecondition for a file that others
  // may read, for other parameters, or for a sealed key without a `passphrase` to ask;
  // kInvalidArgument for a wrong passphrase; kDataLoss.
  static absl::StatusOr<KeyOwner> Load(const Model& model, const std::string& path,
                                       const PassphraseSource& passphrase = {});

  KeyOwner(KeyOwner&&) noexcept;
  KeyOwner& operator=(KeyOwner&&) noexcept;
  ~KeyOwner();

  const KeyId& key_id() const;

  // The key that this owner signs with, which follows from the secret key. kUnavailable.
  absl::StatusOr<SigningKey> Signer() const;
  // The end of the journal as it is now, signed: for TrustedServer::TakeHead, some 400 bytes. It
  // tells how many entries the journal has and the time of the last one, and nothing else. Replies
  // and requests of a server that has taken it carry it, and an owner whose journal is behind it
  // refuses them (kFailedPrecondition). After each change it also lies beside the journal, as
  // journal.head. Empty where openings are counted in memory. Errors as Budget's.
  absl::StatusOr<std::vector<uint8_t>> SignedHead() const;
  // From here on Open and Decide take replies alone that OpenSigned takes: signed by a server of
  // `trust`, for this owner, in time, and of a gallery that it pins. If it pins none, of the key's
  // own gallery: the first that it opened a reply of, or approved people to, as its journal says; a
  // shard list names its gallery itself. Their further errors: OpenSigned's. kUnavailable. Not
  // while others use the object.
  absl::Status RequireSigned(Trust trust);
  // From here on Open and Decide take replies alone of the state of a gallery that Approve has
  // signed last. Without it replies of a later state are taken too; those of an older one, and of
  // another root for the same generation, never are.
  void RequireSignedGallery();

  // `triples` of canaries: of each the third one's score follows from those of the others, whatever
  // the probe. `names` of all of them, or random ones. kFailedPrecondition for a model in whose
  // interval no such people are found.
  absl::StatusOr<CanarySet> MakeCanaries(size_t triples = 3,
                                         std::vector<std::string> names = {}) const;
  // From here on every identification must hold these canaries, with scores as they must be, and
  // they are no candidates; what does not is refused. One that is restricted must hold one triple
  // at least, and of each all or none: give the people of a triple the same metadata. Load does so
  // with PATH.canaries, where that is there. kDataLoss, kFailedPrecondition for those of another
  // key or model. Not while others use the object.
  absl::Status RequireCanaries(std::span<const uint8_t> file, std::string_view what);
  // The same, and keeps them in PATH.canaries for all who load this key. kFailedPrecondition also
  // for a key that is of no file.
  absl::Status RegisterCanaries(std::span<const uint8_t> file, std::string_view what);

  // For clients (heft/client.h), some 270 KB.
  std::vector<uint8_t> EncryptionKey() const;
  // For the server (heft/server.h): just what the model's evaluation needs, some 4 MB (one ring:
  // 35). kCancelled.
  absl::StatusOr<std::vector<uint8_t>> EvaluationKeys(const Monitor& monitor = {}) const;
  // The same for enrolment and verification, where the model's profile has two rings, some
  // 30 MB; empty where one file serves all. kCancelled.
  absl::StatusOr<std::vector<uint8_t>> EnrolmentKeys(const Monitor& monitor = {}) const;
  // Client::Encrypt with the secret key: half the bytes and less noise.
  absl::StatusOr<std::vector<uint8_t>> Encrypt(const Samples& samples) const;
  // Client::EncryptFused with the secret key.
  absl::StatusOr<std::vector<uint8_t>> EncryptFused(std::span<const Samples> modalities) const;

  // A reply of the server, once. kFailedPrecondition for one that was opened before, and for scores
  // under another key, model or parameters. It also says that the key is revoked, that its journal
  // is not the latest, or that there is no room for flooding (SECURITY.md, "Noise flooding").
  // kDataLoss; kResourceExhausted if a budget is spent, kUnavailable if it cannot be recorded. What
  // fails before decryption is not charged. Of an identification the best `publish` candidates are
  // published, and charged.
  absl::StatusOr<OpenedScores> Open(std::span<const uint8_t> reply, std::string_view what,
                                    const std::optional<Flooding>& flooding = {},
                                    uint32_t publish = kPublishedCandidates) const;
  // The same, reduced to what OpenedScores::Decide says, and charged as a decision. ThresholdFor's
  // errors; kFailedPrecondition for a likelihood of a table without calibration.
  absl::StatusOr<Decision> Decide(std::span<const uint8_t> reply, std::string_view what,
                                  const DecisionRule& rule,
                                  const std::optional<Flooding>& flooding = {}) const;
  absl::StatusOr<Decision> Decide(std::span<const uint8_t> reply, std::string_view what,
                                  double score, const std::optional<Flooding>& flooding = {}) const;
  // The threshold that `rule` means for this reply, from the table of the probe's modalities
  // (Model::tables; kFailedPrecondition where there is none, and for a likelihood where it has no
  // calibration): of a search by how many people answered it, and with how many templates (at least
  // one). Opens nothing, charges nothing. kInvalidArgument for a rule without any part, or of a
  // score and rates, a false match rate alone of a search, an identification rate alone of a
  // verification; Model::ThresholdFor's and ThresholdForSearch's; kDataLoss.
  absl::StatusOr<ChosenThreshold> ThresholdFor(std::span<const uint8_t> reply,
                                               std::string_view what,
                                               const DecisionRule& rule) const;

  // Open, Decide and ThresholdFor, also of a gallery in buckets: one search of all of them, charged
  // once. Their replies must be signed by their servers and be the whole: of an identification one
  // of each bucket, of a verification that of the claimed identity's alone, all to one request;
  // otherwise kFailedPrecondition, before anything is decrypted or charged. A threshold for a
  // search is for the people of all buckets together. kInvalidArgument for several replies, or
  // none, without `shards`.
  absl::StatusOr<OpenedScores> Open(const Replies& replies,
                                    const std::optional<Flooding>& flooding = {},
                                    uint32_t publish = kPublishedCandidates) const;
  absl::StatusOr<Decision> Decide(const Replies& replies, const DecisionRule& rule,
                                  const std::optional<Flooding>& flooding = {}) const;
  absl::StatusOr<ChosenThreshold> ThresholdFor(const Replies& replies,
                                               const DecisionRule& rule) const;

  // Of a shared key: this owner's partial openings of what Decide, or Open, would open with the
  // same arguments, signed, for one other owner of the set to combine (Replies::parts). It checks,
  // charges and records as those do; charges to people by the result are made by the
  // owner who combines. Good for kAdmissionLife. Errors as theirs; kInvalidArgument for a set that
  // is none, kFailedPrecondition for a whole key. docs/owners.md.
  absl::StatusOr<std::vector<uint8_t>> OpenPart(const Replies& replies, const OwnerSet& owners,
                                                const DecisionRule& rule,
                                                const std::optional<Flooding>& flooding = {}) const;
  absl::StatusOr<std::vector<uint8_t>> OpenPart(const Replies& replies, const OwnerSet& owners,
                                                uint32_t publish,
                                                const std::optional<Flooding>& flooding = {}) const;
  // The same of all proofs that Approve opens with the same policy. The journal counts them.
  absl::StatusOr<std::vector<uint8_t>> ApprovePart(std::span<const uint8_t> request,
                                                   std::string_view what, const OwnerSet& owners,
                                                   const ApprovalPolicy& policy = {}) const;
  // Its part of what Renew does. Recorded, and given once for each request; without charge. Errors
  // as Renew's.
  absl::StatusOr<std::vector<uint8_t>> RenewPart(std::span<const uint8_t> request,
                                                 std::string_view what,
                                                 const OwnerSet& owners) const;
  // Whose share this is; nullopt: a whole key. A share makes no public keys (EncryptionKey is
  // empty) and does not encrypt or rekey: kFailedPrecondition.
  std::optional<SharedKey> shared() const;

  // Server::Pending's bytes: opens the proofs of the norms of all templates that wait, and nothing
  // else of them, and signs the state of the gallery that asks, also where nothing waits. Not
  // charged to anybody: a norm of 1 says nothing. A key that floods opens 1,000,000 proofs, fewer if
  // it is shared, then kResourceExhausted. Errors as Open's; kNotFound for an entry of the policy that
  // the request does not have.
  // `parts`: of a shared key, those of the other owners (ApprovePart).
  absl::StatusOr<Admissions> Approve(std::span<const uint8_t> request, std::string_view what,
                                     const ApprovalPolicy& policy = {},
                                     std::span<const ReplyFile> parts = {}) const;
  absl::StatusOr<Admissions> Approve(std::span<const uint8_t> request, std::string_view what,
                                     const ApprovalPolicy& policy, const PartSource& source) const;

  // The pending enrolments in Server::Pending's bytes. Opens nothing, signs nothing. Errors as
  // Approve's.
  absl::StatusOr<AdmissionInquiry> ReadInquiry(std::span<const uint8_t> request,
                                               std::string_view what) const;

  // A server's request to make blocks of a gallery anew, without those who are removed: decrypts
  // templates under pads that the server drew, and encrypts those that stay. The pads hide
  // templates from this owner; the answer is encryptions, from which a server learns nothing,
  // whatever it sent. So nothing is published or charged. It takes a server's word for the removed
  // people. The server must delete them and keep the others; the signed state of its gallery shows
  // it. Errors as Approve's.
  // `parts`: of a shared key, those of the other owners (RenewPart). Each owner masks the values,
  // so the one that combines sees random values, whatever pads the server drew. A false part spoils
  // the blocks.
  absl::StatusOr<RenewedBlocks> Renew(std::span<const uint8_t> request, std::string_view what,
                                      std::span<const ReplyFile> parts = {}) const;
  absl::StatusOr<RenewedBlocks> Renew(std::span<const uint8_t> request, std::string_view what,
                                      const PartSource& source) const;

  absl::StatusOr<BudgetUse> Budget() const;
  // The explicit way to raise or lower a budget, recorded. kFailedPrecondition if the key is
  // revoked.
  absl::Status SetBudget(const BudgetLimits& limits);
  // Begins the journal anew, for the reason that it records: after a loss, or where the key has
  // moved. What can still be read of the old one stays counted. kFailedPrecondition if the key is
  // revoked.
  absl::Status RestartJournal(const std::string& reason);
  // Where openings are recorded; empty: in memory.
  const std::string& journal_file() const;

 private:
  friend struct Inside;
  explicit KeyOwner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_KEY_OWNER_H_
