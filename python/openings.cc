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
      .Field("identity", &Candidate::identity,
             "The identity; \"#\" and the position if the reply has no names.")
      .Field("score", &Candidate::score, "Cosine, rounded to 0.001.")
      .Field("templates", &Candidate::templates, "Number of templates of this identity.")
      .Field("log_likelihood_ratio", &Candidate::log_likelihood_ratio,
             "In favour of a match, or None if the model is not calibrated.")
      .Field("scores_left", &Candidate::scores_left,
             "Scores of this identity that this client may still get, ever.");
  Record<OpenedScores> opened(m, "OpenedScores", "An opened reply with its scores.");
  opened
      .Field(
          "kind", [](const OpenedScores& o) { return KindName(o.kind); },
          "identification or verification.")
      .Field(
          "gallery", [](const OpenedScores& o) { return HexOf(o.gallery); },
          "Id of the gallery that answered.")
      .Field("probe", &OpenedScores::probe, "Label of the probe, as the client gave it.")
      .Field("modalities", &OpenedScores::modalities,
             "Modalities of the probe, as its samples say.")
      .Field("claimed", &OpenedScores::claimed, "The claimed identity of a verification.")
      .Field("candidates", &OpenedScores::candidates, "The candidates, best first.")
      .Field("withheld", &OpenedScores::withheld,
             "Number of candidates that are not shown, because their scores are spent.")
      .Field("refusal", &OpenedScores::refusal, "Why the reply is refused; empty if it is not.")
      .Field(
          "where", [](const OpenedScores& o) { return Where(o.where); },
          "Conditions to which the search was restricted, as the server says.")
      .Field("searched", &OpenedScores::searched, "Templates that were searched.")
      .Field(
          "key_warning", &OpenedScores::key_warning,
          "A warning once half of what may be opened with the key has been opened; empty before.");
  Method(opened.object(), "to_dataframe", &Frame,
         "The candidates as a pandas DataFrame: identity, score, templates, log_likelihood_ratio.");
  Method(
      opened.object(), "decide",
      [](const OpenedScores& self, const py::object& threshold) {
        return py::isinstance<ChosenThreshold>(threshold)
                   ? self.Decide(threshold.cast<const ChosenThreshold&>())
                   : self.Decide(threshold.cast<double>());
      },
      "Decides at a ChosenThreshold or a score.", py::arg("threshold"));
}

void DefineDecision(py::module_& m) {
  Record<Decision>(m, "Decision", "The decision for a relying party, without a score.")
      .Field(
          "kind", [](const Decision& d) { return KindName(d.kind); },
          "identification or verification.")
      .Field(
          "gallery", [](const Decision& d) { return HexOf(d.gallery); },
          "Id of the gallery that answered.")
      .Field("probe", &Decision::probe, "Label of the probe, as the client gave it.")
      .Field("modalities", &Decision::modalities,
             "Modalities of the probe, which select the decision table.")
      .Field(
          "decision", [](const Decision& d) { return d.Verdict(); }, "accept or reject.")
      .Field("identity", &Decision::identity, "The accepted identity; empty if rejected.")
      .Field("claimed", &Decision::claimed, "The claimed identity of a verification.")
      .Field("refusal", &Decision::refusal, "Why the reply is refused; empty if it is not.")
      .Field("at", &Decision::at, "The threshold of the decision.")
      .Field(
          "key_warning", &Decision::key_warning,
          "A warning once half of what may be opened with the key has been opened; empty before.")
      .Field(
          "where", [](const Decision& d) { return Where(d.where); },
          "Conditions to which the search was restricted, as the server says.")
      .Field(
          "likelihood", [](const Decision& d) { return std::string(LikelihoodName(d.likelihood)); },
          "weak, moderate or strong, if it was requested; otherwise empty.");
}

void DefineAdmission(py::module_& m) {
  Record<Admissions::Verdict>(m, "Verdict", "The result for one pending template.")
      .Field("identity", &Admissions::Verdict::identity, "The identity of the template.")
      .Field("admitted", &Admissions::Verdict::admitted, "Whether it was admitted.")
      .Field(
          "rejection",
          [](const Admissions::Verdict& v) { return std::string(RejectionName(v.rejection)); },
          "REJECTED, ENROLLED, NOT_AUTHORISED, MISPLACED or UNSOUND; empty if admitted.")
      .Field("reason", &Admissions::Verdict::reason,
             "Why it was rejected, with the measured values.");
  Record<Admissions::Group>(m, "RejectedGroup", "All templates that are rejected for one cause.")
      .Field(
          "rejection",
          [](const Admissions::Group& g) { return std::string(RejectionName(g.rejection)); },
          "As for a Verdict.")
      .Field("cause", &Admissions::Group::cause,
             "The cause, with the range of the measured values.")
      .Field(
          "remedy", [](const Admissions::Group& g) { return InPython(g.remedy); },
          "How to solve the problem; may be empty.")
      .Field("identities", &Admissions::Group::identities, "Identities, one entry per template.");
  using Contested = Admissions::Contested;
  Record<Admissions::Claim>(m, "Claim", "A pending enrolment of a new identity.")
      .Field(
          "entry", [](const Admissions::Claim& c) { return HexOf(c.entry); },
          "Id of the enrolment, for KeyOwner.admit; 64 hexadecimal digits.")
      .Field("client", &Admissions::Claim::client,
             "The client that sent it, as for a WaitingEnrolment.");
  Record<Contested>(m, "Contested", "A new identity with several pending enrolments.")
      .Field("identity", &Contested::identity, "The identity.")
      .Field("claims", &Contested::claims, "The enrolments in the request.")
      .Field("elsewhere", &Contested::elsewhere, "Its templates beyond the request.");
  Record<Admissions>(m, "Admissions", "The key owner's answer to a request for admission.")
      .Field("verdicts", &Admissions::verdicts, "The results, in the order of the request.")
      .Field("contested", &Admissions::contested,
             "New identities that wait because they have several enrolments.")
      .Field("groups", &Admissions::groups, "The rejections by cause, the largest group first.")
      .Field(
          "signed_admission", [](const Admissions& a) { return BytesOf(a.signed_admission); },
          "For Matcher.admit, valid for seven days.");
  using Person = AdmissionInquiry::Person;
  Record<Person>(m, "WaitingPerson", "A person in a pending enrolment.")
      .Field("identity", &Person::identity, "The identity.")
      .Field("known", &Person::known, "Whether the gallery has this identity already.")
      .Field("others", &Person::others, "Its templates in other pending enrolments.");
  using Enrolment = AdmissionInquiry::Enrolment;
  Record<Enrolment>(m, "WaitingEnrolment",
                    "Templates that were enrolled together and are decided together.")
      .Field(
          "entry", [](const Enrolment& e) { return HexOf(e.entry); },
          "Id of the enrolment, for KeyOwner.admit; 64 hexadecimal digits.")
      .Field("people", &Enrolment::people, "The people of the templates.")
      .Field("authorised", &Enrolment::authorised,
             "Whether a registrar's authorisation came with it.")
      .Field(
          "client", &Enrolment::client,
          "The client that sent it: its name in the trust file, or its key; empty if not signed.");
  Record<AdmissionInquiry>(m, "AdmissionInquiry", "A request for admission, before it is decided.")
      .Field(
          "gallery", [](const AdmissionInquiry& a) { return HexOf(a.gallery); },
          "Id of the gallery.")
      .Field("generation", &AdmissionInquiry::generation, "Generation of the gallery.")
      .Field("enrolments", &AdmissionInquiry::enrolments, "The pending enrolments.")
      .Field("more", &AdmissionInquiry::more, "Pending enrolments beyond this request.");
  Record<RenewedBlocks>(m, "RenewedBlocks", "The result of a renewal by the key owner.")
      .Field("blocks", &RenewedBlocks::blocks, "Blocks of the gallery that were encrypted again.")
      .Field("templates", &RenewedBlocks::templates, "Templates in the new blocks.")
      .Field(
          "signed_renewal", [](const RenewedBlocks& r) { return BytesOf(r.signed_renewal); },
          "For Gallery.renew, valid for seven days.");
}

void DefineBudgetUse(py::module_& m) {
  Record<BudgetLimits>(m, "BudgetLimits",
                       "The limits on what may be published of a model's galleries.")
      .Field("scores", &BudgetLimits::scores, "Scores of an identity, ever; one client gets half.")
      .Field("decisions", &BudgetLimits::decisions,
             "Decisions that accept an identity, restored within a day; one client gets half.")
      .Field("client_bits", &BudgetLimits::client_bits,
             "Bits that one client gets in a day; all unlisted clients together get a tenth.")
      .Field(
          "rejections", &BudgetLimits::rejections,
          "Rejected claims of an identity by one client; each accepted one gives one back, each\n"
          "day a sixteenth.");
  using Restart = BudgetUse::Restart;
  Record<Restart>(m, "BudgetRestart", "A new start of the journal.")
      .Field("time", &Restart::time, "Unix seconds.")
      .Field("reason", &Restart::reason, "The given reason.");
  using Client = BudgetUse::Client;
  Record<Client>(m, "BudgetClient", "What was published to one client.")
      .Field(
          "client", [](const Client& c) { return HexOf(c.client); }, "Public key of the client.")
      .Field("openings", &Client::openings, "Replies that were opened for it.")
      .Field("slots", &Client::slots, "Scores that were published to it.")
      .Field("bits", &Client::bits, "Bits that it may get now.")
      .Field("full_at", &Client::full_at, "Unix seconds at which all its bits are available again.")
      .Field("rejections", &Client::rejections,
             "Rejections that it may still have now: the fewest about any identity.");
  Record<BudgetUse>(m, "BudgetUse", "The use of the query budget, from the journal.")
      .Field("limits", &BudgetUse::limits, "The limits that apply.")
      .Field("scores", &BudgetUse::scores, "Scores of the identity with the most.")
      .Field("decisions", &BudgetUse::decisions, "Decisions on the identity with the most.")
      .Field("identifications", &BudgetUse::identifications, "Identifications that were opened.")
      .Field("verifications", &BudgetUse::verifications, "Verifications that were opened.")
      .Field("openings", &BudgetUse::openings, "Openings with this key, for all models.")
      .Field("key_bits", &BudgetUse::key_bits,
             "What the openings reveal of this key, at most, in bits.")
      .Field("most_key_bits", &BudgetUse::most_key_bits,
             "The bits at which openings end, without flooding.")
      .Field("identities", &BudgetUse::identities, "Identities of which anything was published.")
      .Field(
          "gallery", [](const BudgetUse& b) { return HexOf(b.gallery); },
          "Id of the key's gallery: the first that it saw; zeros: none yet.")
      .Field("reconstruction_cosine", &BudgetUse::reconstruction_cosine,
             "The accuracy with which limits.scores reveal a template: a cosine in (0, 1].")
      .Field("clients", &BudgetUse::clients, "What was published to each client.")
      .Field("restarts", &BudgetUse::restarts, "New starts of the journal by hand.")
      .Field("restart_count", &BudgetUse::restart_count,
             "Number of new starts; more than the listed ones if a journal was lost.")
      .Field("entries", &BudgetUse::entries, "Entries of the journal, ever.")
      .Field("last_entry", &BudgetUse::last_entry, "Unix seconds of the last entry.")
      .Field(
          "revoked", [](const BudgetUse& b) { return b.successor.has_value(); },
          "Whether another key has replaced this one.")
      .Field(
          "successor",
          [](const BudgetUse& b) {
            return b.successor ? py::object(py::str(HexOf(*b.successor))) : py::object(py::none());
          },
          "The id of that key, or None.");
  Function(m, "default_limits", &DefaultLimits,
           "The limits of a model's galleries until set_budget changes them: as many scores as\n"
           "training or calibration measured, 0 without this measurement.",
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
