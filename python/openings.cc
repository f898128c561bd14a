// SPDX-License-Identifier: Apache-2.0
// Results of a key owner's openings: scores, decisions, admissions, and the use of budgets.
#include "heft/key_owner.h"
#include "python/values.h"

namespace heft::python {
namespace {

const char* KindName(ScoreKind kind) {
  return kind == ScoreKind::kIdentification ? "identification" : "verification";
}

std::vector<std::string> Where(const std::vector<Condition>& where) {
  std::vector<std::string> out;
  for (const Condition& condition : where) out.push_back(ConditionText(condition));
  return out;
}

py::object Frame(const OpenedScores& opened) {
  py::list identity, score, templates, ratio;
  for (const Candidate& c : opened.candidates) {
    identity.append(c.identity);
    score.append(c.score);
    templates.append(c.templates);
    ratio.append(c.log_likelihood_ratio);
  }
  py::dict columns;
  columns["identity"] = identity;
  columns["score"] = score;
  columns["templates"] = templates;
  columns["log_likelihood_ratio"] = ratio;
  return py::module_::import("pandas").attr("DataFrame")(columns);
}

void DefineScores(py::module_& m) {
  Record<Candidate>(m, "Candidate", "An identity with its best score over its templates.")
      .Field("identity", &Candidate::identity, "\"#\" and the position where there are no names.")
      .Field("score", &Candidate::score, "Cosine, rounded to 0.001.")
      .Field("templates", &Candidate::templates, "Of this identity.")
      .Field("log_likelihood_ratio", &Candidate::log_likelihood_ratio,
             "In favour of a match, or None where the model is not calibrated.")
      .Field("scores_left", &Candidate::scores_left,
             "That the identity may still give this client, ever.");
  Record<OpenedScores> opened(m, "OpenedScores", "A reply in the clear.");
  opened
      .Field(
          "kind", [](const OpenedScores& o) { return KindName(o.kind); },
          "identification or verification.")
      .Field(
          "gallery", [](const OpenedScores& o) { return HexOf(o.gallery); },
          "Id of the gallery that answered.")
      .Field("probe", &OpenedScores::probe, "Its label, as the client gave it.")
      .Field("modalities", &OpenedScores::modalities, "That the probe had, as its samples say.")
      .Field("claimed", &OpenedScores::claimed, "The claimed identity, of a verification.")
      .Field("candidates", &OpenedScores::candidates, "Best first.")
      .Field("withheld", &OpenedScores::withheld, "That are not shown: their scores are spent.")
      .Field("refusal", &OpenedScores::refusal, "Why the reply is refused; empty if it is not.")
      .Field(
          "where", [](const OpenedScores& o) { return Where(o.where); },
          "Conditions that the server says it was restricted to.")
      .Field("searched", &OpenedScores::searched, "Templates that answered.")
      .Field("key_warning", &OpenedScores::key_warning,
             "That half of what may be opened under the key has been; empty before.");
  Method(opened.object(), "to_dataframe", &Frame,
         "The candidates as a pandas DataFrame: identity, score, templates, log_likelihood_ratio.");
  Method(
      opened.object(), "decide",
      [](const OpenedScores& self, const py::object& threshold) {
        return py::isinstance<ChosenThreshold>(threshold)
                   ? self.Decide(threshold.cast<const ChosenThreshold&>())
                   : self.Decide(threshold.cast<double>());
      },
      "The rule of acceptance at a ChosenThreshold, or a score.", py::arg("threshold"));
}

void DefineDecision(py::module_& m) {
  Record<Decision>(m, "Decision", "What a relying party needs to know, and no score.")
      .Field(
          "kind", [](const Decision& d) { return KindName(d.kind); },
          "identification or verification.")
      .Field(
          "gallery", [](const Decision& d) { return HexOf(d.gallery); },
          "Id of the gallery that answered.")
      .Field("probe", &Decision::probe, "Its label, as the client gave it.")
      .Field("modalities", &Decision::modalities, "That the probe had: whose table decided.")
      .Field("accepted", &Decision::accepted, "Whether somebody is.")
      .Field("identity", &Decision::identity, "Of whom, if accepted.")
      .Field("claimed", &Decision::claimed, "The claimed identity, of a verification.")
      .Field("refusal", &Decision::refusal, "Why the reply is refused; empty if it is not.")
      .Field("at", &Decision::at, "The threshold by which it was decided.")
      .Field("key_warning", &Decision::key_warning,
             "That half of what may be opened under the key has been; empty before.")
      .Field(
          "where", [](const Decision& d) { return Where(d.where); },
          "Conditions that the server says it was restricted to.")
      .Field(
          "likelihood", [](const Decision& d) { return std::string(LikelihoodName(d.likelihood)); },
          "weak, moderate or strong, where it was asked for; otherwise empty.");
}

void DefineAdmission(py::module_& m) {
  Record<Admissions::Verdict>(m, "Verdict", "Of one template that waited.")
      .Field("identity", &Admissions::Verdict::identity, "Whose.")
      .Field("admitted", &Admissions::Verdict::admitted, "Whether.")
      .Field(
          "rejection",
          [](const Admissions::Verdict& v) { return std::string(RejectionName(v.rejection)); },
          "REJECTED, ENROLLED, NOT_AUTHORISED, MISPLACED or UNSOUND; empty if admitted.")
      .Field("reason", &Admissions::Verdict::reason,
             "Of a rejection, with what was measured of this template.");
  Record<Admissions::Group>(m, "RejectedGroup", "All templates that are rejected for one cause.")
      .Field(
          "rejection",
          [](const Admissions::Group& g) { return std::string(RejectionName(g.rejection)); },
          "As of a Verdict.")
      .Field("cause", &Admissions::Group::cause, "What was found, with the range measured.")
      .Field(
          "remedy", [](const Admissions::Group& g) { return InPython(g.remedy); },
          "What to do about it; may be empty.")
      .Field("identities", &Admissions::Group::identities, "One entry a template.");
  Record<Admissions>(m, "Admissions", "The key owner's answer to those who wait.")
      .Field("verdicts", &Admissions::verdicts, "In the order of the request.")
      .Field("groups", &Admissions::groups, "Of the rejections by cause, the largest first.")
      .Field(
          "signed_admission", [](const Admissions& a) { return BytesOf(a.signed_admission); },
          "For Matcher.admit, good for seven days.");
  using Person = AdmissionInquiry::Person;
  Record<Person>(m, "WaitingPerson", "Somebody of an enrolment.")
      .Field("identity", &Person::identity, "Who.")
      .Field("known", &Person::known, "Whether the gallery has this identity already.");
  using Enrolment = AdmissionInquiry::Enrolment;
  Record<Enrolment>(m, "WaitingEnrolment", "What was brought together and is decided together.")
      .Field(
          "entry", [](const Enrolment& e) { return HexOf(e.entry); },
          "Names it, for KeyOwner.admit; 64 hexadecimal digits.")
      .Field("people", &Enrolment::people, "Whose templates.")
      .Field("authorised", &Enrolment::authorised, "Whether a registrar's word came with it.");
  Record<AdmissionInquiry>(m, "AdmissionInquiry", "A request for admission, before it is decided.")
      .Field(
          "gallery", [](const AdmissionInquiry& a) { return HexOf(a.gallery); }, "Its id.")
      .Field("generation", &AdmissionInquiry::generation, "Of that gallery.")
      .Field("enrolments", &AdmissionInquiry::enrolments, "Who wait.");
  Record<RenewedBlocks>(m, "RenewedBlocks", "What was encrypted anew.")
      .Field("blocks", &RenewedBlocks::blocks, "Of the gallery.")
      .Field("templates", &RenewedBlocks::templates, "In them.")
      .Field(
          "signed_renewal", [](const RenewedBlocks& r) { return BytesOf(r.signed_renewal); },
          "For Gallery.renew, good for seven days.");
}

void DefineBudgetUse(py::module_& m) {
  Record<BudgetLimits>(m, "BudgetLimits", "What may be published of a model's galleries.")
      .Field("scores", &BudgetLimits::scores, "Of an identity, ever; one client gets half.")
      .Field("decisions", &BudgetLimits::decisions,
             "That accept an identity, again within a day; one client gets half.")
      .Field("client_bits", &BudgetLimits::client_bits,
             "That one client is told, a day; all unlisted clients together a tenth.")
      .Field("rejections", &BudgetLimits::rejections,
             "Of one client's claims of an identity; each accepted one gives one back, each day a "
             "sixteenth.");
  using Restart = BudgetUse::Restart;
  Record<Restart>(m, "BudgetRestart", "The journal was begun anew.")
      .Field("time", &Restart::time, "Unix seconds.")
      .Field("reason", &Restart::reason, "That was given.");
  using Client = BudgetUse::Client;
  Record<Client>(m, "BudgetClient", "What one client was told.")
      .Field(
          "client", [](const Client& c) { return HexOf(c.client); }, "Public key.")
      .Field("openings", &Client::openings, "For it.")
      .Field("slots", &Client::slots, "Scores published.")
      .Field("bits", &Client::bits, "That it may be told now.")
      .Field("full_at", &Client::full_at, "Unix seconds: from then on, all of its bits again.")
      .Field("rejections", &Client::rejections,
             "That it may still have now: the fewest about any identity.");
  Record<BudgetUse>(m, "BudgetUse", "What the journal of a key's openings says.")
      .Field("limits", &BudgetUse::limits, "That hold.")
      .Field("scores", &BudgetUse::scores, "Of the identity with the most.")
      .Field("decisions", &BudgetUse::decisions, "On the identity with the most.")
      .Field("inherited", &BudgetUse::inherited, "Of the scores: counted by version 0.1.")
      .Field("identifications", &BudgetUse::identifications, "That were opened.")
      .Field("verifications", &BudgetUse::verifications, "That were opened.")
      .Field("openings", &BudgetUse::openings, "Under this key, of all models.")
      .Field("key_bits", &BudgetUse::key_bits, "That openings can tell of this key at most.")
      .Field("most_key_bits", &BudgetUse::most_key_bits, "Where they end, without flooding.")
      .Field("identities", &BudgetUse::identities, "Of which anything was published.")
      .Field(
          "gallery", [](const BudgetUse& b) { return HexOf(b.gallery); },
          "Id of the key's own: the first that it saw; zeros: none yet.")
      .Field("reconstruction_cosine", &BudgetUse::reconstruction_cosine,
             "What limits.scores tell of a template, in (0, 1].")
      .Field("clients", &BudgetUse::clients, "What each was told.")
      .Field("restarts", &BudgetUse::restarts, "Of the journal, by hand.")
      .Field("restart_count", &BudgetUse::restart_count,
             "Of the journal: more than these where one was lost.")
      .Field("entries", &BudgetUse::entries, "Of the journal, ever.")
      .Field("last_entry", &BudgetUse::last_entry, "Unix seconds.")
      .Field(
          "revoked", [](const BudgetUse& b) { return b.successor.has_value(); },
          "Whether another key has taken this one's place.")
      .Field(
          "successor",
          [](const BudgetUse& b) {
            return b.successor ? py::object(py::str(HexOf(*b.successor))) : py::object(py::none());
          },
          "That key's id, or None.");
  Function(m, "default_limits", &DefaultLimits,
           "What may be published of a model's galleries until set_budget says otherwise.",
           py::arg("model"));
}

}  // namespace

void DefineOpenings(py::module_& m) {
  DefineScores(m);
  DefineDecision(m);
  DefineAdmission(m);
  DefineBudgetUse(m);
}

}  // namespace heft::python
