// SPDX-License-Identifier: Apache-2.0
// Records as JSON. Written by scripts/make-records from include/heft: do not edit.
#include "gallery/json_of.h"
#include "heft/results.h"

namespace heft {
Json JsonOf(const DecisionThreshold& record, Times times) {
  return Json::object({{"fmr", JsonOf(record.fmr, times)},
                       {"score", JsonOf(record.score, times)},
                       {"fnmr", JsonOf(record.fnmr, times)},
                       {"impostor_pairs", JsonOf(record.impostor_pairs, times)},
                       {"interval", JsonOf(record.interval, times)}});
}
Json JsonOf(const ScoreCalibration& record, Times times) {
  return Json::object(
      {{"slope", JsonOf(record.slope, times)}, {"intercept", JsonOf(record.intercept, times)}});
}
Json JsonOf(const ImpostorTail& record, Times times) {
  return Json::object({{"start", JsonOf(record.start, times)},
                       {"rate", JsonOf(record.rate, times)},
                       {"scale", JsonOf(record.scale, times)},
                       {"shape", JsonOf(record.shape, times)},
                       {"evenness", JsonOf(record.evenness, times)}});
}
Json JsonOf(const SearchCalibration& record, Times times) {
  return Json::object({{"templates", JsonOf(record.templates, times)},
                       {"people", JsonOf(record.people, times)},
                       {"comparisons", JsonOf(record.comparisons, times)},
                       {"tail", JsonOf(record.tail, times)},
                       {"replicates", JsonOf(record.replicates, times)}});
}
Json JsonOf(const DecisionTable& record, Times times) {
  return Json::object({{"modalities", JsonOf(record.modalities, times)},
                       {"thresholds", JsonOf(record.thresholds, times)},
                       {"searches", JsonOf(record.searches, times)},
                       {"calibration", JsonOf(record.calibration, times)}});
}
Json JsonOf(const ChosenThreshold& record, Times times) {
  return Json::object({{"score", JsonOf(record.score, times)},
                       {"of", JsonOf(record.of, times)},
                       {"rate", JsonOf(record.rate, times)},
                       {"interval", JsonOf(record.interval, times)},
                       {"warning", JsonOf(record.warning, times)}});
}
Json JsonOf(const GalleryInfo& record, Times times) {
  return Json::object({{"name", JsonOf(record.name, times)},
                       {"gallery_id", JsonOf(record.gallery_id, times)},
                       {"model_id", JsonOf(record.model_id, times)},
                       {"key_id", JsonOf(record.key_id, times)},
                       {"gamma", JsonOf(record.gamma, times)},
                       {"generation", JsonOf(record.generation, times)},
                       {"root", JsonOf(record.root, times)},
                       {"templates", JsonOf(record.templates, times)},
                       {"leaving", JsonOf(record.leaving, times)},
                       {"pending", JsonOf(record.pending, times)},
                       {"places", JsonOf(record.places, times)},
                       {"freed", JsonOf(record.freed, times)},
                       {"blocks", JsonOf(record.blocks, times)},
                       {"started", TimeJson(record.started, times)},
                       {"key_since", TimeJson(record.key_since, times)},
                       {"verified", TimeJson(record.verified, times)},
                       {"intact", JsonOf(record.intact, times)},
                       {"retention_seconds", JsonOf(record.retention_seconds, times)},
                       {"retention_bytes", JsonOf(record.retention_bytes, times)},
                       {"journal_entries", JsonOf(record.journal_entries, times)},
                       {"journal_bytes", JsonOf(record.journal_bytes, times)},
                       {"unfolded", JsonOf(record.unfolded, times)},
                       {"revoked_keys", JsonOf(record.revoked_keys, times)},
                       {"owner_journal_entry", JsonOf(record.owner_journal_entry, times)},
                       {"owner_journal_fork", JsonOf(record.owner_journal_fork, times)},
                       {"noise_margin", JsonOf(record.noise_margin, times)},
                       {"galleries", JsonOf(record.galleries, times)},
                       {"store_bytes", JsonOf(record.store_bytes, times)},
                       {"store_live_bytes", JsonOf(record.store_live_bytes, times)},
                       {"readers", JsonOf(record.readers, times)}});
}
Json JsonOf(const ListedTemplate& record, Times times) {
  return Json::object({{"position", JsonOf(record.position, times)},
                       {"identity", JsonOf(record.identity, times)},
                       {"person", JsonOf(record.person, times)},
                       {"generation", JsonOf(record.generation, times)},
                       {"enrolled", TimeJson(record.enrolled, times)},
                       {"expires", TimeJson(record.expires, times)},
                       {"metadata", JsonOf(record.metadata, times)},
                       {"state", JsonOf(record.state, times)}});
}
Json JsonOf(const PersonInfo& record, Times times) {
  return Json::object(
      {{"templates", JsonOf(record.templates, times)}, {"pending", JsonOf(record.pending, times)}});
}
Json JsonOf(const PendingEnrolment& record, Times times) {
  return Json::object({{"entry", JsonOf(record.entry, times)},
                       {"client", JsonOf(record.client, times)},
                       {"bytes", JsonOf(record.bytes, times)},
                       {"identities", JsonOf(record.identities, times)}});
}
Json JsonOf(const CopiedGallery& record, Times times) {
  return Json::object({{"name", JsonOf(record.name, times)},
                       {"gallery_id", JsonOf(record.gallery_id, times)},
                       {"generation", JsonOf(record.generation, times)}});
}
Json JsonOf(const DamagedBlock& record, Times times) {
  return Json::object({{"block", JsonOf(record.block, times)}, {"why", JsonOf(record.why, times)}});
}
Json JsonOf(const VerifyResult& record, Times times) {
  return Json::object({{"intact", JsonOf(record.intact, times)},
                       {"generation", JsonOf(record.generation, times)},
                       {"blocks", JsonOf(record.blocks, times)},
                       {"damaged", JsonOf(record.damaged, times)},
                       {"complaints", JsonOf(record.complaints, times)},
                       {"recorded", JsonOf(record.recorded, times)}});
}
Json JsonOf(const EnrolResult& record, Times times) {
  return Json::object({{"brought", JsonOf(record.brought, times)},
                       {"pending", JsonOf(record.pending, times)},
                       {"templates", JsonOf(record.templates, times)},
                       {"blocks", JsonOf(record.blocks, times)},
                       {"repeated", JsonOf(record.repeated, times)},
                       {"missing", JsonOf(record.missing, times)}});
}
Json JsonOf(const EnrolManyResult& record, Times times) {
  return Json::object({{"brought", JsonOf(record.brought, times)},
                       {"activated", JsonOf(record.activated, times)},
                       {"rejected", JsonOf(record.rejected, times)},
                       {"pending", JsonOf(record.pending, times)},
                       {"templates", JsonOf(record.templates, times)},
                       {"blocks", JsonOf(record.blocks, times)}});
}
Json JsonOf(const ActivateResult& record, Times times) {
  return Json::object({{"activated", JsonOf(record.activated, times)},
                       {"rejected", JsonOf(record.rejected, times)},
                       {"pending", JsonOf(record.pending, times)},
                       {"templates", JsonOf(record.templates, times)},
                       {"blocks", JsonOf(record.blocks, times)},
                       {"damaged", JsonOf(record.damaged, times)},
                       {"overwritten", JsonOf(record.overwritten, times)},
                       {"kept", JsonOf(record.kept, times)}});
}
Json JsonOf(const RemoveResult& record, Times times) {
  return Json::object({{"removed", JsonOf(record.removed, times)},
                       {"erased", JsonOf(record.erased, times)},
                       {"leaving", JsonOf(record.leaving, times)},
                       {"rejected", JsonOf(record.rejected, times)},
                       {"generation", JsonOf(record.generation, times)},
                       {"persons", JsonOf(record.persons, times)},
                       {"receipts", JsonOf(record.receipts, times)},
                       {"overwritten", JsonOf(record.overwritten, times)}});
}
Json JsonOf(const RenewResult& record, Times times) {
  return Json::object({{"blocks", JsonOf(record.blocks, times)},
                       {"freed", JsonOf(record.freed, times)},
                       {"moved", JsonOf(record.moved, times)},
                       {"erased", JsonOf(record.erased, times)},
                       {"leaving", JsonOf(record.leaving, times)},
                       {"generation", JsonOf(record.generation, times)},
                       {"receipts", JsonOf(record.receipts, times)},
                       {"overwritten", JsonOf(record.overwritten, times)}});
}
Json JsonOf(const CompactResult& record, Times times) {
  return Json::object({{"mended", JsonOf(record.mended, times)},
                       {"records", JsonOf(record.records, times)},
                       {"damaged", JsonOf(record.damaged, times)},
                       {"receipts", JsonOf(record.receipts, times)},
                       {"overwritten", JsonOf(record.overwritten, times)},
                       {"blocks", JsonOf(record.blocks, times)},
                       {"sparse", JsonOf(record.sparse, times)},
                       {"leaving", JsonOf(record.leaving, times)}});
}
Json JsonOf(const RestoreResult& record, Times times) {
  return Json::object({{"galleries", JsonOf(record.galleries, times)},
                       {"older", JsonOf(record.older, times)},
                       {"erased", JsonOf(record.erased, times)},
                       {"leaving", JsonOf(record.leaving, times)},
                       {"rejected", JsonOf(record.rejected, times)}});
}
Json JsonOf(const ErasureReceipt& record, Times times) {
  return Json::object({{"gallery_id", JsonOf(record.gallery_id, times)},
                       {"generation", JsonOf(record.generation, times)},
                       {"erased", TimeJson(record.erased, times)},
                       {"persons", JsonOf(record.persons, times)},
                       {"removed", TimeJson(record.removed, times)}});
}
Json JsonOf(const Candidate& record, Times times) {
  return Json::object({{"identity", JsonOf(record.identity, times)},
                       {"score", JsonOf(record.score, times)},
                       {"templates", JsonOf(record.templates, times)},
                       {"log_likelihood_ratio", JsonOf(record.log_likelihood_ratio, times)},
                       {"scores_left", JsonOf(record.scores_left, times)}});
}
Json JsonOf(const Decision& record, Times times) {
  return Json::object({{"kind", JsonOf(record.kind, times)},
                       {"gallery_id", JsonOf(record.gallery_id, times)},
                       {"probe", JsonOf(record.probe, times)},
                       {"modalities", JsonOf(record.modalities, times)},
                       {"accepted", JsonOf(record.accepted, times)},
                       {"identity", JsonOf(record.identity, times)},
                       {"claimed", JsonOf(record.claimed, times)},
                       {"refusal", JsonOf(record.refusal, times)},
                       {"threshold", JsonOf(record.threshold, times)},
                       {"where", JsonOf(record.where, times)},
                       {"likelihood", JsonOf(record.likelihood, times)},
                       {"key_warning", JsonOf(record.key_warning, times)}});
}
Json JsonOf(const OpenedScores& record, Times times) {
  return Json::object({{"kind", JsonOf(record.kind, times)},
                       {"gallery_id", JsonOf(record.gallery_id, times)},
                       {"probe", JsonOf(record.probe, times)},
                       {"modalities", JsonOf(record.modalities, times)},
                       {"claimed", JsonOf(record.claimed, times)},
                       {"candidates", JsonOf(record.candidates, times)},
                       {"withheld", JsonOf(record.withheld, times)},
                       {"refusal", JsonOf(record.refusal, times)},
                       {"where", JsonOf(record.where, times)},
                       {"searched", JsonOf(record.searched, times)},
                       {"key_warning", JsonOf(record.key_warning, times)}});
}
Json JsonOf(const BudgetLimits& record, Times times) {
  return Json::object({{"scores", JsonOf(record.scores, times)},
                       {"decisions", JsonOf(record.decisions, times)},
                       {"client_bits", JsonOf(record.client_bits, times)},
                       {"rejections", JsonOf(record.rejections, times)}});
}
Json JsonOf(const BudgetUse::Client& record, Times times) {
  return Json::object({{"client", JsonOf(record.client, times)},
                       {"openings", JsonOf(record.openings, times)},
                       {"slots", JsonOf(record.slots, times)},
                       {"bits_left", JsonOf(record.bits_left, times)},
                       {"full_at", TimeJson(record.full_at, times)},
                       {"rejections_left", JsonOf(record.rejections_left, times)}});
}
Json JsonOf(const BudgetUse::Restart& record, Times times) {
  return Json::object(
      {{"time", TimeJson(record.time, times)}, {"reason", JsonOf(record.reason, times)}});
}
Json JsonOf(const BudgetUse& record, Times times) {
  return Json::object({{"limits", JsonOf(record.limits, times)},
                       {"scores", JsonOf(record.scores, times)},
                       {"decisions", JsonOf(record.decisions, times)},
                       {"identifications", JsonOf(record.identifications, times)},
                       {"verifications", JsonOf(record.verifications, times)},
                       {"openings", JsonOf(record.openings, times)},
                       {"key_bits", JsonOf(record.key_bits, times)},
                       {"most_key_bits", JsonOf(record.most_key_bits, times)},
                       {"proofs", JsonOf(record.proofs, times)},
                       {"most_proofs", JsonOf(record.most_proofs, times)},
                       {"identities", JsonOf(record.identities, times)},
                       {"gallery_id", JsonOf(record.gallery_id, times)},
                       {"reconstruction_cosine", JsonOf(record.reconstruction_cosine, times)},
                       {"clients", JsonOf(record.clients, times)},
                       {"restarts", JsonOf(record.restarts, times)},
                       {"restart_count", JsonOf(record.restart_count, times)},
                       {"entries", JsonOf(record.entries, times)},
                       {"last_entry", TimeJson(record.last_entry, times)},
                       {"successor", JsonOf(record.successor, times)}});
}
Json JsonOf(const AdmissionInquiry::Person& record, Times times) {
  return Json::object({{"identity", JsonOf(record.identity, times)},
                       {"known", JsonOf(record.known, times)},
                       {"others", JsonOf(record.others, times)}});
}
Json JsonOf(const AdmissionInquiry::Enrolment& record, Times times) {
  return Json::object({{"entry", JsonOf(record.entry, times)},
                       {"people", JsonOf(record.people, times)},
                       {"authorised", JsonOf(record.authorised, times)},
                       {"client", JsonOf(record.client, times)}});
}
Json JsonOf(const AdmissionInquiry& record, Times times) {
  return Json::object({{"gallery_id", JsonOf(record.gallery_id, times)},
                       {"generation", JsonOf(record.generation, times)},
                       {"enrolments", JsonOf(record.enrolments, times)},
                       {"more", JsonOf(record.more, times)}});
}
Json JsonOf(const Admissions::Verdict& record, Times times) {
  return Json::object({{"identity", JsonOf(record.identity, times)},
                       {"approved", JsonOf(record.approved, times)},
                       {"rejection", JsonOf(record.rejection, times)},
                       {"reason", JsonOf(record.reason, times)}});
}
Json JsonOf(const Admissions::Group& record, Times times) {
  return Json::object({{"rejection", JsonOf(record.rejection, times)},
                       {"cause", JsonOf(record.cause, times)},
                       {"remedy", JsonOf(record.remedy, times)},
                       {"identities", JsonOf(record.identities, times)}});
}
Json JsonOf(const Admissions::Claim& record, Times times) {
  return Json::object(
      {{"entry", JsonOf(record.entry, times)}, {"client", JsonOf(record.client, times)}});
}
Json JsonOf(const Admissions::Contested& record, Times times) {
  return Json::object({{"identity", JsonOf(record.identity, times)},
                       {"claims", JsonOf(record.claims, times)},
                       {"elsewhere", JsonOf(record.elsewhere, times)}});
}
Json JsonOf(const Admissions& record, Times times) {
  return Json::object({{"verdicts", JsonOf(record.verdicts, times)},
                       {"contested", JsonOf(record.contested, times)},
                       {"groups", JsonOf(record.groups, times)},
                       {"signed_admission", JsonOf(record.signed_admission, times)}});
}
Json JsonOf(const RenewedBlocks& record, Times times) {
  return Json::object({{"blocks", JsonOf(record.blocks, times)},
                       {"templates", JsonOf(record.templates, times)},
                       {"signed_renewal", JsonOf(record.signed_renewal, times)}});
}
Json JsonOf(const FileInfo& record, Times times) {
  return Json::object({{"kind", JsonOf(record.kind, times)},
                       {"name", JsonOf(record.name, times)},
                       {"version", JsonOf(record.version, times)},
                       {"bytes", JsonOf(record.bytes, times)},
                       {"params_id", JsonOf(record.params_id, times)},
                       {"key_id", JsonOf(record.key_id, times)},
                       {"samples", JsonOf(record.samples, times)}});
}
Json JsonOf(const ProfileInfo& record, Times times) {
  return Json::object({{"name", JsonOf(record.name, times)},
                       {"parameters", JsonOf(record.parameters, times)},
                       {"security", JsonOf(record.security, times)},
                       {"ring_degree", JsonOf(record.ring_degree, times)},
                       {"total_bits", JsonOf(record.total_bits, times)},
                       {"bound_2024_classical", JsonOf(record.bound_2024_classical, times)},
                       {"bound_2024_quantum", JsonOf(record.bound_2024_quantum, times)},
                       {"bound_2018_classical", JsonOf(record.bound_2018_classical, times)}});
}
Json JsonOf(const AuditFinding& record, Times times) {
  return Json::object(
      {{"right", JsonOf(record.right, times)}, {"reason", JsonOf(record.reason, times)}});
}
Json JsonOf(const AuditHead& record, Times times) {
  return Json::object(
      {{"lines", JsonOf(record.lines, times)}, {"hash", JsonOf(record.hash, times)}});
}
Json JsonOf(const LearnEpoch& record, Times times) {
  return Json::object({{"epoch", JsonOf(record.epoch, times)},
                       {"train_auroc", JsonOf(record.train_auroc, times)},
                       {"val_auroc", JsonOf(record.val_auroc, times)}});
}
Json JsonOf(const SharedKey& record, Times times) {
  return Json::object({{"owner", JsonOf(record.owner, times)},
                       {"owners", JsonOf(record.owners, times)},
                       {"threshold", JsonOf(record.threshold, times)},
                       {"renewal", JsonOf(record.renewal, times)}});
}
Json JsonOf(const KeySet& record, Times times) {
  return Json::object({{"key_id", JsonOf(record.key_id, times)},
                       {"parameters", JsonOf(record.parameters, times)},
                       {"security", JsonOf(record.security, times)},
                       {"secret_key", JsonOf(record.secret_key, times)},
                       {"encryption_key", JsonOf(record.encryption_key, times)},
                       {"evaluation_keys", JsonOf(record.evaluation_keys, times)},
                       {"enrolment_keys", JsonOf(record.enrolment_keys, times)},
                       {"enrolment_keys_bytes", JsonOf(record.enrolment_keys_bytes, times)},
                       {"encryption_key_bytes", JsonOf(record.encryption_key_bytes, times)},
                       {"evaluation_keys_bytes", JsonOf(record.evaluation_keys_bytes, times)},
                       {"rekeying_key", JsonOf(record.rekeying_key, times)},
                       {"rekeying_key_bytes", JsonOf(record.rekeying_key_bytes, times)},
                       {"trust", JsonOf(record.trust, times)}});
}
Json JsonOf(const SharedKeySet& record, Times times) {
  return Json::object({{"keys", JsonOf(record.keys, times)},
                       {"threshold", JsonOf(record.threshold, times)},
                       {"shares", JsonOf(record.shares, times)},
                       {"share_bytes", JsonOf(record.share_bytes, times)},
                       {"ceremony", JsonOf(record.ceremony, times)}});
}
Json JsonOf(const JoinStep& record, Times times) {
  return Json::object({{"round", JsonOf(record.round, times)},
                       {"owner", JsonOf(record.owner, times)},
                       {"owners", JsonOf(record.owners, times)},
                       {"message", JsonOf(record.message, times)},
                       {"message_bytes", JsonOf(record.message_bytes, times)},
                       {"keys", JsonOf(record.keys, times)},
                       {"share", JsonOf(record.share, times)},
                       {"ceremony", JsonOf(record.ceremony, times)}});
}
Json JsonOf(const CeremonyCheck& record, Times times) {
  return Json::object({{"shared", JsonOf(record.shared, times)},
                       {"key_id", JsonOf(record.key_id, times)},
                       {"time", JsonOf(record.time, times)},
                       {"dealer", JsonOf(record.dealer, times)},
                       {"digest", JsonOf(record.digest, times)},
                       {"owners", JsonOf(record.owners, times)},
                       {"joint", JsonOf(record.joint, times)}});
}
Json JsonOf(const WorkspaceAdded& record, Times times) {
  return Json::object({{"added", JsonOf(record.added, times)},
                       {"templates", JsonOf(record.templates, times)},
                       {"rejected", JsonOf(record.rejected, times)}});
}
Json JsonOf(const WorkspaceRemoved& record, Times times) {
  return Json::object({{"removed", JsonOf(record.removed, times)},
                       {"templates", JsonOf(record.templates, times)},
                       {"overwritten", JsonOf(record.overwritten, times)}});
}
Json JsonOf(const SealParameters& record, Times times) {
  return Json::object({{"parameters", JsonOf(record.parameters, times)},
                       {"ring", JsonOf(record.ring, times)},
                       {"description", JsonOf(record.description, times)},
                       {"degree", JsonOf(record.degree, times)},
                       {"primes", JsonOf(record.primes, times)},
                       {"scale", JsonOf(record.scale, times)},
                       {"runs", JsonOf(record.runs, times)},
                       {"rotation_steps", JsonOf(record.rotation_steps, times)}});
}
Json JsonOf(const SealSamples& record, Times times) {
  return Json::object({{"ciphertexts", JsonOf(record.ciphertexts, times)},
                       {"labels", JsonOf(record.labels, times)},
                       {"bulk", JsonOf(record.bulk, times)}});
}
Json JsonOf(const ImportedEvaluationKeys& record, Times times) {
  return Json::object(
      {{"bytes", JsonOf(record.bytes, times)}, {"galois_keys", JsonOf(record.galois_keys, times)}});
}
Json JsonOf(const SealEvaluationKeys& record, Times times) {
  return Json::object({{"relinearisation", JsonOf(record.relinearisation, times)},
                       {"galois", JsonOf(record.galois, times)},
                       {"galois_keys", JsonOf(record.galois_keys, times)}});
}
template <typename Record>
Json ToJson(const Record& record, Times times) {
  return JsonOf(record, times);
}
template <typename Record>
Json ToJson(const Record& record) {
  return JsonOf(record, Times::kText);
}
template HEFT_EXPORT Json ToJson(const DecisionThreshold& record, Times times);
template HEFT_EXPORT Json ToJson(const DecisionThreshold& record);
template HEFT_EXPORT Json ToJson(const ScoreCalibration& record, Times times);
template HEFT_EXPORT Json ToJson(const ScoreCalibration& record);
template HEFT_EXPORT Json ToJson(const ImpostorTail& record, Times times);
template HEFT_EXPORT Json ToJson(const ImpostorTail& record);
template HEFT_EXPORT Json ToJson(const SearchCalibration& record, Times times);
template HEFT_EXPORT Json ToJson(const SearchCalibration& record);
template HEFT_EXPORT Json ToJson(const DecisionTable& record, Times times);
template HEFT_EXPORT Json ToJson(const DecisionTable& record);
template HEFT_EXPORT Json ToJson(const ChosenThreshold& record, Times times);
template HEFT_EXPORT Json ToJson(const ChosenThreshold& record);
template HEFT_EXPORT Json ToJson(const GalleryInfo& record, Times times);
template HEFT_EXPORT Json ToJson(const GalleryInfo& record);
template HEFT_EXPORT Json ToJson(const ListedTemplate& record, Times times);
template HEFT_EXPORT Json ToJson(const ListedTemplate& record);
template HEFT_EXPORT Json ToJson(const PersonInfo& record, Times times);
template HEFT_EXPORT Json ToJson(const PersonInfo& record);
template HEFT_EXPORT Json ToJson(const PendingEnrolment& record, Times times);
template HEFT_EXPORT Json ToJson(const PendingEnrolment& record);
template HEFT_EXPORT Json ToJson(const CopiedGallery& record, Times times);
template HEFT_EXPORT Json ToJson(const CopiedGallery& record);
template HEFT_EXPORT Json ToJson(const DamagedBlock& record, Times times);
template HEFT_EXPORT Json ToJson(const DamagedBlock& record);
template HEFT_EXPORT Json ToJson(const VerifyResult& record, Times times);
template HEFT_EXPORT Json ToJson(const VerifyResult& record);
template HEFT_EXPORT Json ToJson(const EnrolResult& record, Times times);
template HEFT_EXPORT Json ToJson(const EnrolResult& record);
template HEFT_EXPORT Json ToJson(const EnrolManyResult& record, Times times);
template HEFT_EXPORT Json ToJson(const EnrolManyResult& record);
template HEFT_EXPORT Json ToJson(const ActivateResult& record, Times times);
template HEFT_EXPORT Json ToJson(const ActivateResult& record);
template HEFT_EXPORT Json ToJson(const RemoveResult& record, Times times);
template HEFT_EXPORT Json ToJson(const RemoveResult& record);
template HEFT_EXPORT Json ToJson(const RenewResult& record, Times times);
template HEFT_EXPORT Json ToJson(const RenewResult& record);
template HEFT_EXPORT Json ToJson(const CompactResult& record, Times times);
template HEFT_EXPORT Json ToJson(const CompactResult& record);
template HEFT_EXPORT Json ToJson(const RestoreResult& record, Times times);
template HEFT_EXPORT Json ToJson(const RestoreResult& record);
template HEFT_EXPORT Json ToJson(const ErasureReceipt& record, Times times);
template HEFT_EXPORT Json ToJson(const ErasureReceipt& record);
template HEFT_EXPORT Json ToJson(const Candidate& record, Times times);
template HEFT_EXPORT Json ToJson(const Candidate& record);
template HEFT_EXPORT Json ToJson(const Decision& record, Times times);
template HEFT_EXPORT Json ToJson(const Decision& record);
template HEFT_EXPORT Json ToJson(const OpenedScores& record, Times times);
template HEFT_EXPORT Json ToJson(const OpenedScores& record);
template HEFT_EXPORT Json ToJson(const BudgetLimits& record, Times times);
template HEFT_EXPORT Json ToJson(const BudgetLimits& record);
template HEFT_EXPORT Json ToJson(const BudgetUse::Client& record, Times times);
template HEFT_EXPORT Json ToJson(const BudgetUse::Client& record);
template HEFT_EXPORT Json ToJson(const BudgetUse::Restart& record, Times times);
template HEFT_EXPORT Json ToJson(const BudgetUse::Restart& record);
template HEFT_EXPORT Json ToJson(const BudgetUse& record, Times times);
template HEFT_EXPORT Json ToJson(const BudgetUse& record);
template HEFT_EXPORT Json ToJson(const AdmissionInquiry::Person& record, Times times);
template HEFT_EXPORT Json ToJson(const AdmissionInquiry::Person& record);
template HEFT_EXPORT Json ToJson(const AdmissionInquiry::Enrolment& record, Times times);
template HEFT_EXPORT Json ToJson(const AdmissionInquiry::Enrolment& record);
template HEFT_EXPORT Json ToJson(const AdmissionInquiry& record, Times times);
template HEFT_EXPORT Json ToJson(const AdmissionInquiry& record);
template HEFT_EXPORT Json ToJson(const Admissions::Verdict& record, Times times);
template HEFT_EXPORT Json ToJson(const Admissions::Verdict& record);
template HEFT_EXPORT Json ToJson(const Admissions::Group& record, Times times);
template HEFT_EXPORT Json ToJson(const Admissions::Group& record);
template HEFT_EXPORT Json ToJson(const Admissions::Claim& record, Times times);
template HEFT_EXPORT Json ToJson(const Admissions::Claim& record);
template HEFT_EXPORT Json ToJson(const Admissions::Contested& record, Times times);
template HEFT_EXPORT Json ToJson(const Admissions::Contested& record);
template HEFT_EXPORT Json ToJson(const Admissions& record, Times times);
template HEFT_EXPORT Json ToJson(const Admissions& record);
template HEFT_EXPORT Json ToJson(const RenewedBlocks& record, Times times);
template HEFT_EXPORT Json ToJson(const RenewedBlocks& record);
template HEFT_EXPORT Json ToJson(const FileInfo& record, Times times);
template HEFT_EXPORT Json ToJson(const FileInfo& record);
template HEFT_EXPORT Json ToJson(const ProfileInfo& record, Times times);
template HEFT_EXPORT Json ToJson(const ProfileInfo& record);
template HEFT_EXPORT Json ToJson(const AuditFinding& record, Times times);
template HEFT_EXPORT Json ToJson(const AuditFinding& record);
template HEFT_EXPORT Json ToJson(const AuditHead& record, Times times);
template HEFT_EXPORT Json ToJson(const AuditHead& record);
template HEFT_EXPORT Json ToJson(const LearnEpoch& record, Times times);
template HEFT_EXPORT Json ToJson(const LearnEpoch& record);
template HEFT_EXPORT Json ToJson(const SharedKey& record, Times times);
template HEFT_EXPORT Json ToJson(const SharedKey& record);
template HEFT_EXPORT Json ToJson(const KeySet& record, Times times);
template HEFT_EXPORT Json ToJson(const KeySet& record);
template HEFT_EXPORT Json ToJson(const SharedKeySet& record, Times times);
template HEFT_EXPORT Json ToJson(const SharedKeySet& record);
template HEFT_EXPORT Json ToJson(const JoinStep& record, Times times);
template HEFT_EXPORT Json ToJson(const JoinStep& record);
template HEFT_EXPORT Json ToJson(const CeremonyCheck& record, Times times);
template HEFT_EXPORT Json ToJson(const CeremonyCheck& record);
template HEFT_EXPORT Json ToJson(const WorkspaceAdded& record, Times times);
template HEFT_EXPORT Json ToJson(const WorkspaceAdded& record);
template HEFT_EXPORT Json ToJson(const WorkspaceRemoved& record, Times times);
template HEFT_EXPORT Json ToJson(const WorkspaceRemoved& record);
template HEFT_EXPORT Json ToJson(const SealParameters& record, Times times);
template HEFT_EXPORT Json ToJson(const SealParameters& record);
template HEFT_EXPORT Json ToJson(const SealSamples& record, Times times);
template HEFT_EXPORT Json ToJson(const SealSamples& record);
template HEFT_EXPORT Json ToJson(const ImportedEvaluationKeys& record, Times times);
template HEFT_EXPORT Json ToJson(const ImportedEvaluationKeys& record);
template HEFT_EXPORT Json ToJson(const SealEvaluationKeys& record, Times times);
template HEFT_EXPORT Json ToJson(const SealEvaluationKeys& record);
}  // namespace heft
