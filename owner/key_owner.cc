// SPDX-License-Identifier: Apache-2.0
#include "heft/key_owner.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "base/envelope.h"
#include "base/files.h"
#include "base/progress.h"
#include "base/secure.h"
#include "fusion/key_files.h"
#include "fusion/owner/key_share.h"
#include "fusion/owner/keygen.h"
#include "fusion/owner/secret_key_file.h"
#include "owner/budget_use.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

constexpr uint64_t kMaxCanaryFile = 1 << 25;
constexpr uint64_t kMaxSecretBytes = 1 << 22;

// Refuses a file that others may read, sealed or not: a passphrase can be guessed.
absl::StatusOr<HeldKey> LoadHeldKey(const Rings& rings, const std::string& path,
                                    const PassphraseSource& ask) {
  HEFT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(path, kMaxSecretBytes));
  const bool shared = EnvelopeKind(file.bytes.span()) == kKeyShareKind;
  HEFT_ASSIGN_OR_RETURN(const bool sealed, shared ? KeyShareIsSealed(file.bytes.span(), path)
                                                  : SecretKeyIsSealed(file.bytes.span(), path));
  HEFT_RETURN_IF_ERROR(file.permissions);
  std::string passphrase;
  if (sealed && ask) {
    HEFT_ASSIGN_OR_RETURN(passphrase, ask());
  }
  const auto parse = [&]() -> absl::StatusOr<HeldKey> {
    if (shared) return ParseKeyShare(rings, file.bytes.span(), passphrase, path);
    return ParseSecretKeys(rings, file.bytes.span(), passphrase, path);
  };
  auto held = parse();
  SecureWipe(passphrase.data(), passphrase.size());
  return held;
}

// LikelihoodOf: of the best candidate, whose ratio the model's calibration has given.
Likelihood LikelihoodOf(const OpenedScores& opened) {
  double logarithm = opened.candidates[0].log_likelihood_ratio.value_or(0);
  if (opened.searched > 1) logarithm -= std::log(static_cast<double>(opened.searched));
  if (logarithm >= std::log(10000.0)) return Likelihood::kStrong;
  return logarithm >= std::log(100.0) ? Likelihood::kModerate : Likelihood::kWeak;
}

}  // namespace

Decision OpenedScores::Decide(const ChosenThreshold& threshold) const {
  Decision out;
  out.kind = kind;
  out.gallery_id = gallery_id;
  out.probe = probe;
  out.modalities = modalities;
  out.claimed = claimed;
  out.refusal = refusal;
  out.threshold = threshold;
  out.where = where;
  out.key_warning = key_warning;
  const RateOf other = kind == ScoreKind::kVerification ? RateOf::kSearches : RateOf::kComparisons;
  if (out.refusal.empty() && threshold.of == other) {
    out.refusal = other == RateOf::kComparisons
                      ? "a search is not decided by a false match rate of one comparison"
                      : "a verification is not decided by a rate of searches";
  }
  out.accepted =
      out.refusal.empty() && !candidates.empty() && candidates[0].score >= threshold.score;
  if (out.accepted) out.identity = candidates[0].identity;
  return out;
}

KeyOwner::KeyOwner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KeyOwner::KeyOwner(KeyOwner&&) noexcept = default;
KeyOwner& KeyOwner::operator=(KeyOwner&&) noexcept = default;
KeyOwner::~KeyOwner() = default;

absl::StatusOr<KeyOwner> KeyOwner::Generate(const Model& model) {
  HEFT_ASSIGN_OR_RETURN(Rings rings, MakeRings(model));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(SecretKeys keys, GenerateSecretKeys(rings, rng));
  HEFT_ASSIGN_OR_RETURN(auto impl, Impl::Create(model, std::move(rings), std::move(keys)));
  return KeyOwner(std::move(impl));
}

absl::StatusOr<KeyOwner> KeyOwner::Load(const Model& model, const std::string& path,
                                        const PassphraseSource& passphrase) {
  HEFT_ASSIGN_OR_RETURN(Rings rings, MakeRings(model));
  HEFT_ASSIGN_OR_RETURN(HeldKey keys, LoadHeldKey(rings, path, passphrase));
  HEFT_ASSIGN_OR_RETURN(JournalKeys journal, JournalKeys::Derive(keys));
  HEFT_ASSIGN_OR_RETURN(
      auto impl, Impl::Create(model, std::move(rings), std::move(keys),
                              QueryJournal::OnDisk(path + kJournalSuffix, std::move(journal))));
  impl->SignHeads();
  const auto canaries = ReadFile(path + kCanarySuffix, kMaxCanaryFile);
  if (canaries.ok()) {
    HEFT_RETURN_IF_ERROR(impl->RequireCanaries(*canaries, path + kCanarySuffix));
  } else if (!absl::IsNotFound(canaries.status())) {
    return canaries.status();
  }
  return KeyOwner(std::move(impl));
}

const KeyId& KeyOwner::key_id() const { return impl_->key_id(); }

absl::StatusOr<SigningKey> KeyOwner::Signer() const { return impl_->Signer(); }

absl::StatusOr<std::vector<uint8_t>> KeyOwner::SignedHead() const { return impl_->SignedHead(); }

absl::Status KeyOwner::RequireSigned(Trust trust) { return impl_->RequireSigned(std::move(trust)); }

void KeyOwner::RequireSignedGallery() { impl_->RequireSignedGallery(); }

absl::StatusOr<CanarySet> KeyOwner::MakeCanaries(size_t triples,
                                                 std::vector<std::string> names) const {
  return impl_->MakeCanaries(triples, std::move(names));
}

absl::Status KeyOwner::RegisterCanaries(std::span<const uint8_t> file, std::string_view what) {
  HEFT_RETURN_IF_ERROR(impl_->RequireCanaries(file, what));
  std::string path = journal_file();
  if (path.empty())
    return absl::FailedPreconditionError("the key is of no file: nowhere to keep it");
  path.resize(path.size() - std::string_view(kJournalSuffix).size());
  return WriteFileAtomic(path + kCanarySuffix, file, 0600);
}

absl::Status KeyOwner::RequireCanaries(std::span<const uint8_t> file, std::string_view what) {
  return impl_->RequireCanaries(file, what);
}

std::vector<uint8_t> KeyOwner::EncryptionKey() const {
  if (impl_->held().whole() == nullptr) return {};
  Csprng rng;
  return SerializeEncryptionKeys(impl_->rings(),
                                 MakeEncryptionKeys(impl_->rings(), impl_->keys(), rng));
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::EvaluationKeys(const Monitor& monitor) const {
  HEFT_RETURN_IF_ERROR(impl_->RequireSecretKey("make evaluation keys"));
  const Progress progress(monitor, "making evaluation keys");
  return MakeEvaluationKeys(impl_->instance(), impl_->key(), progress.Callback());
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::EnrolmentKeys(const Monitor& monitor) const {
  HEFT_RETURN_IF_ERROR(impl_->RequireSecretKey("make enrolment keys"));
  if (!impl_->rings().thin()) return std::vector<uint8_t>();
  const Progress progress(monitor, "making enrolment keys");
  return MakeEnrolmentKeys(impl_->rings(), impl_->keys(), progress.Callback());
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::Impl::Encrypt(
    const EncodableRows& rows, std::span<const std::string> labels) const {
  HEFT_RETURN_IF_ERROR(RequireSecretKey("encrypt"));
  HEFT_ASSIGN_OR_RETURN(const Instance* ring, RingOf(rings_, rows.form));
  const ckks::SecretKey& key = ring == &rings_.matching ? keys().matching() : keys().enrolment;
  return EncryptSamplesSymmetric(*ring, model_, rows.index, key, rows.rows, labels, rows.form);
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::Encrypt(const Samples& samples) const {
  HEFT_ASSIGN_OR_RETURN(const EncodableRows rows, RowsToEncrypt(impl_->model(), samples));
  return impl_->Encrypt(rows, rows.labels);
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::EncryptFused(
    std::span<const Samples> modalities) const {
  HEFT_ASSIGN_OR_RETURN(const EncodableRows rows, RowsToFuse(impl_->model(), modalities));
  return impl_->Encrypt(rows, rows.labels);
}

absl::StatusOr<OpenedScores> KeyOwner::Open(std::span<const uint8_t> reply, std::string_view what,
                                            const std::optional<Flooding>& flooding,
                                            uint32_t publish) const {
  const ReplyFile file = {reply, what};
  return Open({{&file, 1}}, flooding, publish);
}

absl::StatusOr<OpenedScores> KeyOwner::Open(const Replies& replies,
                                            const std::optional<Flooding>& flooding,
                                            uint32_t publish) const {
  return impl_->Open(replies, flooding, {/*decision=*/false, publish});
}

absl::StatusOr<ChosenThreshold> KeyOwner::ThresholdFor(std::span<const uint8_t> reply,
                                                       std::string_view what,
                                                       const DecisionRule& rule) const {
  const ReplyFile file = {reply, what};
  return impl_->ThresholdFor({{&file, 1}}, rule);
}

absl::StatusOr<ChosenThreshold> KeyOwner::ThresholdFor(const Replies& replies,
                                                       const DecisionRule& rule) const {
  return impl_->ThresholdFor(replies, rule);
}

void KeyOwner::Impl::Blur(uint32_t modalities, Candidate* candidate) const {
  // Box and Muller.
  Csprng rng;
  const auto uniform = [&] { return (static_cast<double>(rng.U64() >> 11) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  const double shift = kDecisionBlur * radius * std::cos(2 * std::numbers::pi * uniform());
  candidate->score += shift;
  const auto table = model_.TableFor(modalities);
  if (!table.ok() || !(*table)->calibration || !candidate->log_likelihood_ratio) return;
  *candidate->log_likelihood_ratio += shift * (*table)->calibration->slope;
}

absl::StatusOr<Decision> KeyOwner::Impl::Decide(const Replies& replies, const DecisionRule& rule,
                                                const std::optional<Flooding>& flooding) const {
  HEFT_ASSIGN_OR_RETURN(Asked asked, AskTogether(replies, {/*decision=*/true, 1}, rule, flooding));
  const ChosenThreshold threshold = asked.question.threshold;
  const uint32_t modalities = asked.question.modalities;
  Opening opening;
  HEFT_ASSIGN_OR_RETURN(OpenedScores opened,
                        OpenRead(std::move(asked.question), *asked.opener, flooding, &opening));
  if (!opened.candidates.empty()) Blur(modalities, &opened.candidates[0]);
  Decision decision = opened.Decide(threshold);
  if (!opened.candidates.empty()) {
    HEFT_RETURN_IF_ERROR(
        journal_->PublishDecision(opening, opened.candidates[0].identity, decision.accepted));
  }
  if (rule.likelihood && decision.accepted) decision.likelihood = LikelihoodOf(opened);
  return decision;
}

absl::StatusOr<Decision> KeyOwner::Decide(std::span<const uint8_t> reply, std::string_view what,
                                          const DecisionRule& rule,
                                          const std::optional<Flooding>& flooding) const {
  const ReplyFile file = {reply, what};
  return impl_->Decide({{&file, 1}}, rule, flooding);
}

absl::StatusOr<Decision> KeyOwner::Decide(std::span<const uint8_t> reply, std::string_view what,
                                          double score,
                                          const std::optional<Flooding>& flooding) const {
  return Decide(reply, what, DecisionRule{.score = score}, flooding);
}

absl::StatusOr<Decision> KeyOwner::Decide(const Replies& replies, const DecisionRule& rule,
                                          const std::optional<Flooding>& flooding) const {
  return impl_->Decide(replies, rule, flooding);
}

absl::StatusOr<BudgetUse> KeyOwner::Budget() const {
  HEFT_ASSIGN_OR_RETURN(const QueryJournal::Status status, impl_->journal().Read());
  BudgetUse use = Summarise(status, impl_->model());
  use.most_proofs = impl_->MostProofs();
  use.most_key_bits =
      MostKeyUnits(static_cast<uint32_t>(impl_->instance().params().n())) / kKeyUnits;
  return use;
}

absl::Status KeyOwner::SetBudget(const BudgetLimits& limits) {
  const Model& model = impl_->model();
  return impl_->journal().SetLimits(model.Id(), limits, DefaultLimits(model).scores);
}

absl::Status KeyOwner::RestartJournal(const std::string& reason) {
  return impl_->journal().Restart(reason);
}

const std::string& KeyOwner::journal_file() const { return impl_->journal().path(); }

}  // namespace heft
