// SPDX-License-Identifier: Apache-2.0
// The key owner's role. Secrets stay in the library: no Python object has their bytes, and no
// KeyOwner is pickled, copied or printed.
#include "heft/key_owner.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "heft/key_set.h"
#include "python/values.h"

namespace heft::python {
namespace {

using Class = py::class_<OwnerHandle>;

// Owners whose calls this thread is in, the innermost last.
thread_local std::vector<const OwnerState*> reading_here;

// Spent: a budget is its own kind of exception; all other statuses as they are.
template <typename T>
T Take(const OwnerHandle&, absl::StatusOr<T> value) {
  if (absl::IsResourceExhausted(value.status())) ThrowSpent(value.status());
  return python::Take(std::move(value));
}

// Read: f(owner) beside others; Write: alone.
template <typename F>
auto Read(const OwnerHandle& self, F&& f) {
  const auto state = self.Get();
  auto result = [&] {
    const py::gil_scoped_release release;
    const Reading reading(state);
    return f(static_cast<const KeyOwner&>(state->owner));
  }();
  return Take(self, std::move(result));
}
template <typename F>
void Write(const OwnerHandle& self, F&& f) {
  const auto state = self.Get();
  Call([&]() -> absl::Status {
    if (Reading::Here(*state)) {
      return absl::FailedPreconditionError(
          "a callback of a key owner's call cannot change that owner: do it when the call is back");
    }
    const std::unique_lock lock(state->mutex);
    return f(state->owner);
  });
}

std::string SecretFile(const std::string& path) {
  std::error_code unknown;  // then the file itself says what is wrong
  return std::filesystem::is_directory(path, unknown) ? path + "/secret.key" : path;
}

OwnerHandle Generate(const Model& model, const py::object& folder, const py::object& passphrase,
                     const py::object& progress) {
  if (folder.is_none()) return OwnerHandle(Call([&] { return KeyOwner::Generate(model); }));
  const std::string path = PathOf(folder);
  const PassphraseSource source = PassphraseOf(passphrase);
  Watch watch(progress);
  return OwnerHandle(Call([&]() -> absl::StatusOr<KeyOwner> {
    // A passphrase is asked for once; the library wipes what it is given.
    std::string given;
    PassphraseSource once, again;
    if (source) {
      once = [&]() -> absl::StatusOr<std::string> {
        auto asked = source();
        if (asked.ok()) given = *asked;
        return asked;
      };
      again = [&]() -> absl::StatusOr<std::string> { return given; };
    }
    const auto set = MakeKeySet(model, path, once, watch.monitor());
    auto owner = set.ok() ? KeyOwner::Load(model, set->secret_key, again)
                          : absl::StatusOr<KeyOwner>(set.status());
    for (volatile char& c : given) c = 0;
    return owner;
  }));
}

OwnerHandle Load(const Model& model, const py::object& path, const py::object& passphrase) {
  const std::string file = PathOf(path);
  const PassphraseSource source = PassphraseOf(passphrase);
  return OwnerHandle(Call([&] { return KeyOwner::Load(model, SecretFile(file), source); }));
}

DecisionRule RuleOf(std::optional<double> score, std::optional<double> fmr,
                    std::optional<double> fpir, bool likelihood) {
  return {score, fmr, fpir, likelihood};
}

py::object Renew(const OwnerHandle& self, const py::object& folder, const py::object& passphrase,
                 const py::object& progress) {
  const std::string path = PathOf(folder);
  const PassphraseSource source = PassphraseOf(passphrase);
  Watch watch(progress);
  const KeySet set = Read(
      self, [&](const KeyOwner& owner) { return RenewKey(owner, path, source, watch.monitor()); });
  return py::str(set.rekeying_key);
}

void DefineSecretKey(Class& c) {
  StaticMethod(
      c, "generate", &Generate,
      "A new secret key. With a folder all keys are written there (secret.key,\n"
      "encryption.key, evaluation.keys, enrolment.keys, trust.heft) and openings are recorded\n"
      "beside it; without one, nothing is kept. passphrase seals the secret key: a str, or a\n"
      "function that returns one. AlreadyExists, Unavailable, Cancelled.",
      py::arg("model"), py::arg("folder") = py::none(), py::kw_only(),
      py::arg("passphrase") = py::none(), py::arg("progress") = py::none());
  StaticMethod(
      c, "load", &Load,
      "The secret key of a file, or of the folder that generate wrote; its journal stands\n"
      "beside it. FailedPrecondition for a file that others may read, another model, or a\n"
      "sealed key without a passphrase; InvalidArgument for a wrong one; NotFound, DataLoss.",
      py::arg("model"), py::arg("path"), py::kw_only(), py::arg("passphrase") = py::none());
  c.def_property_readonly(
      "key_id", [](const OwnerHandle& self) { return HexOf(self.Get()->owner.key_id()); },
      "Of the secret key, 32 hexadecimal digits.");
  c.def_property_readonly(
      "public_key",
      [](const OwnerHandle& self) {
        return HexOf(Read(self, [](const KeyOwner& o) { return o.Signer(); }).public_key());
      },
      "That it signs with; 64 hexadecimal digits.");
}

void DefinePublicKeys(Class& c) {
  Method(
      c, "signer",
      [](const OwnerHandle& self) {
        return HeldSigner(Read(self, [](const KeyOwner& o) { return o.Signer(); }),
                          "this signing key");
      },
      "The key that it signs with.");
  Method(
      c, "encryption_key",
      [](const OwnerHandle& self) {
        return BytesOf(Read(self, [](const KeyOwner& o) -> absl::StatusOr<std::vector<uint8_t>> {
          return o.EncryptionKey();
        }));
      },
      "For clients; some 270 kB.");
  Method(
      c, "evaluation_keys",
      [](const OwnerHandle& self, const py::object& progress) {
        Watch watch(progress);
        return BytesOf(
            Read(self, [&](const KeyOwner& o) { return o.EvaluationKeys(watch.monitor()); }));
      },
      "For the matcher. Cancelled.", py::arg("progress") = py::none());
  Method(
      c, "enrolment_keys",
      [](const OwnerHandle& self, const py::object& progress) {
        Watch watch(progress);
        return BytesOf(
            Read(self, [&](const KeyOwner& o) { return o.EnrolmentKeys(watch.monitor()); }));
      },
      "For the matcher, to enrol and verify; empty where the profile has none. Cancelled.",
      py::arg("progress") = py::none());
  Method(c, "rekey", &Renew,
         "A new secret key with its keys in a new folder, and in it rekeying.key, whose path is\n"
         "returned, for Gallery.rekey. This key is revoked. FailedPrecondition if it is already.",
         py::arg("folder"), py::kw_only(), py::arg("passphrase") = py::none(),
         py::arg("progress") = py::none());
}

void DefineOpen(Class& c) {
  Method(
      c, "require_signed",
      [](const OwnerHandle& self, const Trust& trust) {
        Write(self, [&](KeyOwner& owner) { return owner.RequireSigned(trust); });
      },
      "From here on replies are taken only if a server that trust lists has signed them for this\n"
      "owner, in time, of a gallery that it pins if it pins any.",
      py::arg("trust"));
  Method(
      c, "open",
      [](const OwnerHandle& self, const py::object& reply, uint32_t publish, int security_bits) {
        const Source source(reply, "reply", kMaxReplySize);
        std::optional<Flooding> flooding;
        if (security_bits != 0) flooding = Flooding{security_bits};
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Open(source.bytes(), source.what(), flooding, publish);
        });
      },
      "A matcher's reply, once: the best publish candidates with rounded scores, each of them\n"
      "charged. security_bits: noise added for so many bits, 30 at least; 0: none.\n"
      "BudgetSpent; FailedPrecondition for a reply that was opened before, of another key or "
      "model;\n"
      "DataLoss, Unavailable.",
      py::arg("reply"), py::kw_only(), py::arg("publish") = kPublishedCandidates,
      py::arg("security_bits") = 0);
  Method(
      c, "decide",
      [](const OwnerHandle& self, const py::object& reply, std::optional<double> score,
         std::optional<double> fmr, std::optional<double> fpir, bool likelihood) {
        const Source source(reply, "reply", kMaxReplySize);
        const DecisionRule rule = RuleOf(score, fmr, fpir, likelihood);
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Decide(source.bytes(), source.what(), rule);
        });
      },
      "The decision alone: a score to reach, or rates, of which that is taken which is of what "
      "was\n"
      "asked: fmr of a verification, fpir of an identification. likelihood: also how likely, "
      "charged\n"
      "as two decisions. Errors as open's; OutOfRange, InvalidArgument.",
      py::arg("reply"), py::kw_only(), py::arg("score") = py::none(), py::arg("fmr") = py::none(),
      py::arg("fpir") = py::none(), py::arg("likelihood") = false);
  Method(
      c, "threshold_for",
      [](const OwnerHandle& self, const py::object& reply, std::optional<double> score,
         std::optional<double> fmr, std::optional<double> fpir) {
        const Source source(reply, "reply", kMaxReplySize);
        const DecisionRule rule = RuleOf(score, fmr, fpir, false);
        return Read(self, [&](const KeyOwner& owner) {
          return owner.ThresholdFor(source.bytes(), source.what(), rule);
        });
      },
      "What such a rule means for this reply. Opens nothing, charges nothing.", py::arg("reply"),
      py::kw_only(), py::arg("score") = py::none(), py::arg("fmr") = py::none(),
      py::arg("fpir") = py::none());
}

void DefineAnswers(Class& c) {
  Method(
      c, "admit",
      [](const OwnerHandle& self, const py::object& request, const py::object& only,
         const py::object& reject, bool new_identities_only, bool put_back) {
        const Source source(request, "request");
        AdmissionPolicy policy;
        policy.only = LabelsOf(only), policy.reject = LabelsOf(reject);
        policy.new_identities_only = new_identities_only, policy.put_back = put_back;
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Admit(source.bytes(), source.what(), policy);
        });
      },
      "Matcher.pending's bytes: opens the proofs of the norms of all templates that wait, and "
      "admits\n"
      "the sound ones. only, reject: identities. put_back: the gallery came back from a copy. Not\n"
      "charged. FailedPrecondition, DataLoss.",
      py::arg("request"), py::kw_only(), py::arg("only") = py::none(),
      py::arg("reject") = py::none(), py::arg("new_identities_only") = false,
      py::arg("put_back") = false);
  Method(
      c, "inquiry",
      [](const OwnerHandle& self, const py::object& request) {
        const Source source(request, "request");
        return Read(self, [&](const KeyOwner& owner) {
          return owner.ReadInquiry(source.bytes(), source.what());
        });
      },
      "Who waits, in such a request. Opens nothing, signs nothing.", py::arg("request"));
  Method(
      c, "renew",
      [](const OwnerHandle& self, const py::object& request) {
        const Source source(request, "request");
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Renew(source.bytes(), source.what());
        });
      },
      "Gallery.ask_renewal's bytes: makes blocks anew, without those who were removed; sees pads\n"
      "alone.",
      py::arg("request"));
}

void DefineBudget(Class& c) {
  Method(
      c, "budget",
      [](const OwnerHandle& self) {
        return Read(self, [](const KeyOwner& owner) { return owner.Budget(); });
      },
      "What has been published under this key.");
  Method(
      c, "set_budget",
      [](const OwnerHandle& self, std::optional<uint64_t> scores, std::optional<uint64_t> decisions,
         std::optional<uint64_t> bits) {
        Write(self, [&](KeyOwner& owner) -> absl::Status {
          const auto use = owner.Budget();
          if (!use.ok()) return use.status();
          return owner.SetBudget({scores.value_or(use->limits.scores),
                                  decisions.value_or(use->limits.decisions),
                                  bits.value_or(use->limits.client_bits)});
        });
      },
      "Raises or lowers limits, recorded; None leaves one as it is.", py::kw_only(),
      py::arg("scores") = py::none(), py::arg("decisions") = py::none(),
      py::arg("client_bits") = py::none());
  Method(
      c, "restart_journal",
      [](const OwnerHandle& self, const std::string& reason) {
        Write(self, [&](KeyOwner& owner) { return owner.RestartJournal(reason); });
      },
      "Begins the journal of openings anew, for a reason that it records.", py::arg("reason"));
  c.def_property_readonly(
      "journal_file", [](const OwnerHandle& self) { return self.Get()->owner.journal_file(); },
      "Where openings are recorded; empty: in memory.");
}

}  // namespace

Reading::Reading(std::shared_ptr<OwnerState> state) : state_(std::move(state)) {
  if (!Here(*state_)) state_->mutex.lock_shared();
  reading_here.push_back(state_.get());
}

Reading::~Reading() {
  reading_here.pop_back();
  if (!Here(*state_)) state_->mutex.unlock_shared();
}

bool Reading::Here(const OwnerState& state) {
  return std::find(reading_here.begin(), reading_here.end(), &state) != reading_here.end();
}

void DefineKeyOwner(py::module_& m) {
  Class c(
      m, "KeyOwner",
      "The key owner: makes the keys, opens the matcher's replies and decides. The secret key is\n"
      "in locked memory; it is not pickled, copied or printed. close() wipes it.");
  DefineSecretKey(c);
  DefinePublicKeys(c);
  DefineOpen(c);
  DefineAnswers(c);
  DefineBudget(c);
  c.def("__repr__", [](const OwnerHandle& self) {
    return self.closed() ? std::string("<heft.KeyOwner, closed>")
                         : "<heft.KeyOwner " + HexOf(self.Get()->owner.key_id()) + ">";
  });
  ContextManager(c, "Wipes the secret key, once the calls that use it are back.");
  RefuseCopies(c, "a KeyOwner is a secret: it is not pickled or copied; load it from its file");
}

}  // namespace heft::python
