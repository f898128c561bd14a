// SPDX-License-Identifier: Apache-2.0
// Records as JSON. Written by scripts/make-records from include/heft: do not edit.
#include "gallery/json_of.h"
#include "heft/results.h"

namespace heft {
Json JsonOf(const DecisionThreshold& record) {
  return Json::object({{"fmr", JsonOf(record.fmr)},
                       {"score", JsonOf(record.score)},
                       {"fnmr", JsonOf(record.fnmr)},
                       {"impostor_pairs", JsonOf(record.impostor_pairs)},
                       {"interval", JsonOf(record.interval)}});
}
Json JsonOf(const ScoreCalibration& record) {
  return Json::object({{"slope", JsonOf(record.slope)}, {"intercept", JsonOf(record.intercept)}});
}
Json JsonOf(const ImpostorTail& record) {
  return Json::object({{"start", JsonOf(record.start)},
                       {"rate", JsonOf(record.rate)},
                       {"scale", JsonOf(record.scale)},
                       {"shape", JsonOf(record.shape)},
                       {"evenness", JsonOf(record.evenness)}});
}
Json JsonOf(const SearchCalibration& record) {
  return Json::object({{"templates", JsonOf(record.templates)},
                       {"people", JsonOf(record.people)},
                       {"comparisons", JsonOf(record.comparisons)},
                       {"tail", JsonOf(record.tail)},
                       {"replicates", JsonOf(record.replicates)}});
}
Json JsonOf(const DecisionTable& record) {
  return Json::object({{"modalities", JsonOf(record.modalities)},
                       {"thresholds", JsonOf(record.thresholds)},
                       {"searches", JsonOf(record.searches)},
                       {"calibration", JsonOf(record.calibration)}});
}
Json JsonOf(const ChosenThreshold& record) {
  return Json::object({{"score", JsonOf(record.score)},
                       {"of", JsonOf(record.of)},
                       {"rate", JsonOf(record.rate)},
                       {"interval", JsonOf(record.interval)},
                       {"warning", JsonOf(record.warning)}});
}
Json JsonOf(const GalleryInfo& record) {
  return Json::object({{"name", JsonOf(record.name)},
                       {"gallery_id", JsonOf(record.gallery_id)},
                       {"model_id", JsonOf(record.model_id)},
                       {"key_id", JsonOf(record.key_id)},
                       {"gamma", JsonOf(record.gamma)},
                       {"generation", JsonOf(record.generation)},
                       {"root", JsonOf(record.root)},
                       {"templates", JsonOf(record.templates)},
                       {"leaving", JsonOf(record.leaving)},
                       {"waiting", JsonOf(record.waiting)},
                       {"places", JsonOf(record.places)},
                       {"freed", JsonOf(record.freed)},
                       {"blocks", JsonOf(record.blocks)},
                       {"started", JsonOf(record.started)},
                       {"key_since", JsonOf(record.key_since)},
                       {"verified", JsonOf(record.verified)},
                       {"intact", JsonOf(record.intact)},
                       {"retention_seconds", JsonOf(record.retention_seconds)},
                       {"retention_bytes", JsonOf(record.retention_bytes)},
                       {"journal_entries", JsonOf(record.journal_entries)},
                       {"journal_bytes", JsonOf(record.journal_bytes)},
                       {"unfolded", JsonOf(record.unfolded)},
                       {"revoked_keys", JsonOf(record.revoked_keys)},
                       {"owner_journal_entry", JsonOf(record.owner_journal_entry)},
                       {"owner_journal_fork", JsonOf(record.owner_journal_fork)},
                       {"noise_margin", JsonOf(record.noise_margin)},
                       {"galleries", JsonOf(record.galleries)},
                       {"store_bytes", JsonOf(record.store_bytes)},
                       {"store_live_bytes", JsonOf(record.store_live_bytes)},
                       {"readers", JsonOf(record.readers)}});
}
Json JsonOf(const ListedTemplate& record) {
  return Json::object({{"position", JsonOf(record.position)},
                       {"identity", JsonOf(record.identity)},
                       {"person", JsonOf(record.person)},
                       {"generation", JsonOf(record.generation)},
                       {"enrolled", JsonOf(record.enrolled)},
                       {"expires", JsonOf(record.expires)},
                       {"metadata", JsonOf(record.metadata)},
                       {"state", JsonOf(record.state)}});
}
Json JsonOf(const PersonInfo& record) {
  return Json::object(
      {{"templates", JsonOf(record.templates)}, {"waiting", JsonOf(record.waiting)}});
}
Json JsonOf(const PendingEnrolment& record) {
  return Json::object({{"entry", JsonOf(record.entry)},
                       {"client", JsonOf(record.client)},
                       {"bytes", JsonOf(record.bytes)},
                       {"identities", JsonOf(record.identities)}});
}
Json JsonOf(const CopiedGallery& record) {
  return Json::object({{"name", JsonOf(record.name)},
                       {"gallery_id", JsonOf(record.gallery_id)},
                       {"generation", JsonOf(record.generation)}});
}
Json JsonOf(const DamagedBlock& record) {
  return Json::object({{"block", JsonOf(record.block)}, {"why", JsonOf(record.why)}});
}
Json JsonOf(const VerifyResult& record) {
  return Json::object({{"intact", JsonOf(record.intact)},
                       {"generation", JsonOf(record.generation)},
                       {"blocks", JsonOf(record.blocks)},
                       {"damaged", JsonOf(record.damaged)},
                       {"complaints", JsonOf(record.complaints)},
                       {"recorded", JsonOf(record.recorded)}});
}
Json JsonOf(const EnrolResult& record) {
  return Json::object({{"brought", JsonOf(record.brought)},
                       {"waiting", JsonOf(record.waiting)},
                       {"templates", JsonOf(record.templates)},
                       {"blocks", JsonOf(record.blocks)},
                       {"repeated", JsonOf(record.repeated)},
                       {"missing", JsonOf(record.missing)}});
}
Json JsonOf(const EnrolManyResult& record) {
  return Json::object({{"brought", JsonOf(record.brought)},
                       {"admitted", JsonOf(record.admitted)},
                       {"rejected", JsonOf(record.rejected)},
                       {"waiting", JsonOf(record.waiting)},
                       {"templates", JsonOf(record.templates)},
                       {"blocks", JsonOf(record.blocks)}});
}
Json JsonOf(const AdmitResult& record) {
  return Json::object({{"admitted", JsonOf(record.admitted)},
                       {"rejected", JsonOf(record.rejected)},
                       {"waiting", JsonOf(record.waiting)},
                       {"templates", JsonOf(record.templates)},
                       {"blocks", JsonOf(record.blocks)},
                       {"damaged", JsonOf(record.damaged)},
                       {"overwritten", JsonOf(record.overwritten)},
                       {"kept", JsonOf(record.kept)}});
}
Json JsonOf(const RemoveResult& record) {
  return Json::object({{"removed", JsonOf(record.removed)},
                       {"erased", JsonOf(record.erased)},
                       {"leaving", JsonOf(record.leaving)},
                       {"rejected", JsonOf(record.rejected)},
                       {"generation", JsonOf(record.generation)},
                       {"persons", JsonOf(record.persons)},
                       {"receipts", JsonOf(record.receipts)},
                       {"overwritten", JsonOf(record.overwritten)}});
}
Json JsonOf(const RenewResult& record) {
  return Json::object({{"blocks", JsonOf(record.blocks)},
                       {"freed", JsonOf(record.freed)},
                       {"moved", JsonOf(record.moved)},
                       {"erased", JsonOf(record.erased)},
                       {"leaving", JsonOf(record.leaving)},
                       {"generation", JsonOf(record.generation)},
                       {"receipts", JsonOf(record.receipts)},
                       {"overwritten", JsonOf(record.overwritten)}});
}
Json JsonOf(const CompactResult& record) {
  return Json::object({{"mended", JsonOf(record.mended)},
                       {"records", JsonOf(record.records)},
                       {"damaged", JsonOf(record.damaged)},
                       {"receipts", JsonOf(record.receipts)},
                       {"overwritten", JsonOf(record.overwritten)},
                       {"blocks", JsonOf(record.blocks)},
                       {"sparse", JsonOf(record.sparse)},
                       {"leaving", JsonOf(record.leaving)}});
}
Json JsonOf(const RestoreResult& record) {
  return Json::object({{"galleries", JsonOf(record.galleries)},
                       {"older", JsonOf(record.older)},
                       {"erased", JsonOf(record.erased)},
                       {"leaving", JsonOf(record.leaving)},
                       {"rejected", JsonOf(record.rejected)}});
}
Json JsonOf(const ErasureReceipt& record) {
  return Json::object({{"gallery_id", JsonOf(record.gallery_id)},
                       {"generation", JsonOf(record.generation)},
                       {"erased", JsonOf(record.erased)},
                       {"persons", JsonOf(record.persons)},
                       {"removed", JsonOf(record.removed)}});
}
Json JsonOf(const Candidate& record) {
  return Json::object({{"identity", JsonOf(record.identity)},
                       {"score", JsonOf(record.score)},
                       {"templates", JsonOf(record.templates)},
                       {"log_likelihood_ratio", JsonOf(record.log_likelihood_ratio)},
                       {"scores_left", JsonOf(record.scores_left)}});
}
Json JsonOf(const Decision& record) {
  return Json::object({{"kind", JsonOf(record.kind)},
                       {"gallery_id", JsonOf(record.gallery_id)},
                       {"probe", JsonOf(record.probe)},
                       {"modalities", JsonOf(record.modalities)},
                       {"accepted", JsonOf(record.accepted)},
                       {"identity", JsonOf(record.identity)},
                       {"claimed", JsonOf(record.claimed)},
                       {"refusal", JsonOf(record.refusal)},
                       {"threshold", JsonOf(record.threshold)},
                       {"where", JsonOf(record.where)},
                       {"likelihood", JsonOf(record.likelihood)},
                       {"key_warning", JsonOf(record.key_warning)}});
}
Json JsonOf(const OpenedScores& record) {
  return Json::object({{"kind", JsonOf(record.kind)},
                       {"gallery_id", JsonOf(record.gallery_id)},
                       {"probe", JsonOf(record.probe)},
                       {"modalities", JsonOf(record.modalities)},
                       {"claimed", JsonOf(record.claimed)},
                       {"candidates", JsonOf(record.candidates)},
                       {"withheld", JsonOf(record.withheld)},
                       {"refusal", JsonOf(record.refusal)},
                       {"where", JsonOf(record.where)},
                       {"searched", JsonOf(record.searched)},
                       {"key_warning", JsonOf(record.key_warning)}});
}
Json JsonOf(const BudgetLimits& record) {
  return Json::object({{"scores", JsonOf(record.scores)},
                       {"decisions", JsonOf(record.decisions)},
                       {"client_bits", JsonOf(record.client_bits)},
                       {"rejections", JsonOf(record.rejections)}});
}
Json JsonOf(const BudgetUse::Client& record) {
  return Json::object({{"client", JsonOf(record.client)},
                       {"openings", JsonOf(record.openings)},
                       {"slots", JsonOf(record.slots)},
                       {"bits_left", JsonOf(record.bits_left)},
                       {"full_at", JsonOf(record.full_at)},
                       {"rejections_left", JsonOf(record.rejections_left)}});
}
Json JsonOf(const BudgetUse::Restart& record) {
  return Json::object({{"time", JsonOf(record.time)}, {"reason", JsonOf(record.reason)}});
}
Json JsonOf(const BudgetUse& record) {
  return Json::object({{"limits", JsonOf(record.limits)},
                       {"scores", JsonOf(record.scores)},
                       {"decisions", JsonOf(record.decisions)},
                       {"identifications", JsonOf(record.identifications)},
                       {"verifications", JsonOf(record.verifications)},
                       {"openings", JsonOf(record.openings)},
                       {"key_bits", JsonOf(record.key_bits)},
                       {"most_key_bits", JsonOf(record.most_key_bits)},
                       {"identities", JsonOf(record.identities)},
                       {"gallery_id", JsonOf(record.gallery_id)},
                       {"reconstruction_cosine", JsonOf(record.reconstruction_cosine)},
                       {"clients", JsonOf(record.clients)},
                       {"restarts", JsonOf(record.restarts)},
                       {"restart_count", JsonOf(record.restart_count)},
                       {"entries", JsonOf(record.entries)},
                       {"last_entry", JsonOf(record.last_entry)},
                       {"successor", JsonOf(record.successor)}});
}
Json JsonOf(const AdmissionInquiry::Person& record) {
  return Json::object({{"identity", JsonOf(record.identity)},
                       {"known", JsonOf(record.known)},
                       {"others", JsonOf(record.others)}});
}
Json JsonOf(const AdmissionInquiry::Enrolment& record) {
  return Json::object({{"entry", JsonOf(record.entry)},
                       {"people", JsonOf(record.people)},
                       {"authorised", JsonOf(record.authorised)},
                       {"client", JsonOf(record.client)}});
}
Json JsonOf(const AdmissionInquiry& record) {
  return Json::object({{"gallery_id", JsonOf(record.gallery_id)},
                       {"generation", JsonOf(record.generation)},
                       {"enrolments", JsonOf(record.enrolments)},
                       {"more", JsonOf(record.more)}});
}
Json JsonOf(const Admissions::Verdict& record) {
  return Json::object({{"identity", JsonOf(record.identity)},
                       {"admitted", JsonOf(record.admitted)},
                       {"rejection", JsonOf(record.rejection)},
                       {"reason", JsonOf(record.reason)}});
}
Json JsonOf(const Admissions::Group& record) {
  return Json::object({{"rejection", JsonOf(record.rejection)},
                       {"cause", JsonOf(record.cause)},
                       {"remedy", JsonOf(record.remedy)},
                       {"identities", JsonOf(record.identities)}});
}
Json JsonOf(const Admissions::Claim& record) {
  return Json::object({{"entry", JsonOf(record.entry)}, {"client", JsonOf(record.client)}});
}
Json JsonOf(const Admissions::Contested& record) {
  return Json::object({{"identity", JsonOf(record.identity)},
                       {"claims", JsonOf(record.claims)},
                       {"elsewhere", JsonOf(record.elsewhere)}});
}
Json JsonOf(const Admissions& record) {
  return Json::object({{"verdicts", JsonOf(record.verdicts)},
                       {"contested", JsonOf(record.contested)},
                       {"groups", JsonOf(record.groups)},
                       {"signed_admission", JsonOf(record.signed_admission)}});
}
Json JsonOf(const RenewedBlocks& record) {
  return Json::object({{"blocks", JsonOf(record.blocks)},
                       {"templates", JsonOf(record.templates)},
                       {"signed_renewal", JsonOf(record.signed_renewal)}});
}
template <typename Record>
Json ToJson(const Record& record) {
  return JsonOf(record);
}
template HEFT_EXPORT Json ToJson(const DecisionThreshold& record);
template HEFT_EXPORT Json ToJson(const ScoreCalibration& record);
template HEFT_EXPORT Json ToJson(const ImpostorTail& record);
template HEFT_EXPORT Json ToJson(const SearchCalibration& record);
template HEFT_EXPORT Json ToJson(const DecisionTable& record);
template HEFT_EXPORT Json ToJson(const ChosenThreshold& record);
template HEFT_EXPORT Json ToJson(const GalleryInfo& record);
template HEFT_EXPORT Json ToJson(const ListedTemplate& record);
template HEFT_EXPORT Json ToJson(const PersonInfo& record);
template HEFT_EXPORT Json ToJson(const PendingEnrolment& record);
template HEFT_EXPORT Json ToJson(const CopiedGallery& record);
template HEFT_EXPORT Json ToJson(const DamagedBlock& record);
template HEFT_EXPORT Json ToJson(const VerifyResult& record);
template HEFT_EXPORT Json ToJson(const EnrolResult& record);
template HEFT_EXPORT Json ToJson(const EnrolManyResult& record);
template HEFT_EXPORT Json ToJson(const AdmitResult& record);
template HEFT_EXPORT Json ToJson(const RemoveResult& record);
template HEFT_EXPORT Json ToJson(const RenewResult& record);
template HEFT_EXPORT Json ToJson(const CompactResult& record);
template HEFT_EXPORT Json ToJson(const RestoreResult& record);
template HEFT_EXPORT Json ToJson(const ErasureReceipt& record);
template HEFT_EXPORT Json ToJson(const Candidate& record);
template HEFT_EXPORT Json ToJson(const Decision& record);
template HEFT_EXPORT Json ToJson(const OpenedScores& record);
template HEFT_EXPORT Json ToJson(const BudgetLimits& record);
template HEFT_EXPORT Json ToJson(const BudgetUse::Client& record);
template HEFT_EXPORT Json ToJson(const BudgetUse::Restart& record);
template HEFT_EXPORT Json ToJson(const BudgetUse& record);
template HEFT_EXPORT Json ToJson(const AdmissionInquiry::Person& record);
template HEFT_EXPORT Json ToJson(const AdmissionInquiry::Enrolment& record);
template HEFT_EXPORT Json ToJson(const AdmissionInquiry& record);
template HEFT_EXPORT Json ToJson(const Admissions::Verdict& record);
template HEFT_EXPORT Json ToJson(const Admissions::Group& record);
template HEFT_EXPORT Json ToJson(const Admissions::Claim& record);
template HEFT_EXPORT Json ToJson(const Admissions::Contested& record);
template HEFT_EXPORT Json ToJson(const Admissions& record);
template HEFT_EXPORT Json ToJson(const RenewedBlocks& record);
}  // namespace heft
