// SPDX-License-Identifier: Apache-2.0
// Shared keys: the dealer's ceremony, parts for the owner who combines, and new shares.
#include <optional>
#include <string>
#include <vector>

#include "heft/key_owner.h"
#include "heft/key_set.h"
#include "python/answering.h"
#include "python/owner.h"

namespace heft::python {
namespace {

constexpr uint64_t kMaxRecordSize = 1 << 16;

// PassphrasesOf: one for each owner, or None. The sources use the objects in `kept`.
std::vector<PassphraseSource> PassphrasesOf(const py::object& given,
                                            std::vector<py::object>* kept) {
  if (given.is_none()) return {};
  if (py::isinstance<py::str>(given)) {
    throw py::type_error("passphrases: give a list, with one for each owner");
  }
  std::vector<PassphraseSource> out;
  for (const py::handle one : py::iter(given)) {
    kept->push_back(py::reinterpret_borrow<py::object>(one));
    out.push_back(PassphraseOf(kept->back()));
  }
  return out;
}

SharedKeySet MakeSharedKeys(const Model& model, const py::object& folder, uint32_t owners,
                            uint32_t threshold, const py::object& passphrases,
                            const py::object& progress) {
  const std::string path = PathOf(folder);
  std::vector<py::object> kept;
  const std::vector<PassphraseSource> sources = PassphrasesOf(passphrases, &kept);
  Watch watch(progress);
  return Call(
      [&] { return MakeSharedKeySet(model, path, owners, threshold, sources, watch.monitor()); });
}

JoinStep JoinOnce(const Model& model, const py::object& folder, const py::object& messages,
                  uint32_t owners, const py::object& passphrase, const py::object& progress) {
  const std::string path = PathOf(folder);
  if (py::isinstance<py::str>(messages)) throw py::type_error("messages: give a list of paths");
  std::vector<std::string> paths;
  for (const py::handle one : py::iter(messages)) paths.push_back(PathOf(one));
  const PassphraseSource source = PassphraseOf(passphrase);
  Watch watch(progress);
  return Call([&] { return JoinKeySet(model, path, owners, paths, source, watch.monitor()); });
}

void DefineJoin(py::module_& m) {
  Function(m, "join_key_set", &JoinOnce,
           "One step of making a key with other owners, without a dealer: no process has the\n"
           "secret, and all owners open together. Begin with owners, 2 or 3, in a folder without\n"
           "keys. Each later step takes the paths of all owners' messages of one round, this\n"
           "one's among them, until round 6. Between the steps the folder has the owner's state,\n"
           "sealed under the passphrase as the share will be.\n\n"
           "InvalidArgument for messages of another round, missing and repeated ones;\n"
           "FailedPrecondition for messages of another ceremony or model, and for an owner that\n"
           "changed its parts or was shown other messages; AlreadyExists, DataLoss, Cancelled.",
           py::arg("model"), py::arg("folder"), py::arg("messages") = py::list(), py::kw_only(),
           py::arg("owners") = 0, py::arg("passphrase") = py::none(),
           py::arg("progress") = py::none());
}

void DefineCeremony(py::module_& m, OwnerClass& c) {
  DefineJoin(m);
  Function(m, "make_shared_key_set", &MakeSharedKeys,
           "Makes a secret key that no owner holds alone, deals its shares and wipes it. An\n"
           "opening takes threshold owners, 2 or 3, of 2 to 5. The folder gets the public keys,\n"
           "and a folder for each owner (owner-1/share.key, ...), with the owner's journal. The\n"
           "model must have profile flooded.\n\n"
           "passphrases: a list with one for each owner, which seals the owner's share.\n"
           "InvalidArgument; FailedPrecondition for another profile, or a model without room for\n"
           "the noise of so many owners; AlreadyExists, Unavailable, Cancelled.",
           py::arg("model"), py::arg("folder"), py::arg("owners"), py::arg("threshold"),
           py::kw_only(), py::arg("passphrases") = py::none(), py::arg("progress") = py::none());
  c.def_property_readonly(
      "shared", [](const OwnerHandle& self) { return self.Get()->owner.shared(); },
      "The SharedKey that says whose share this is; None for a whole key.");
  Method(
      c, "check_ceremony",
      [](const OwnerHandle& self, const py::object& folder) {
        const std::string path = PathOf(folder);
        return Read(self, [&](const KeyOwner& owner) { return CheckCeremony(owner, path); });
      },
      "Checks this share, and the public keys in a folder, against the ceremony's record.\n"
      "DataLoss for a file of another ceremony; FailedPrecondition for a whole key.",
      py::arg("folder"));
}

void DefineShares(OwnerClass& c) {
  Method(
      c, "decide_part",
      [](const OwnerHandle& self, const py::object& reply, const OwnerSet& owners,
         std::optional<double> score, std::optional<double> fmr, std::optional<double> fpir,
         bool likelihood, bool others, int security_bits, uint32_t openings,
         const std::optional<ShardList>& shards) {
        const GivenReplies replies(reply, shards);
        const auto flooding = FloodingOf(security_bits, openings);
        const DecisionRule rule = {score, fmr, fpir, likelihood, others};
        return BytesOf(Read(self, [&](const KeyOwner& owner) {
          return owner.OpenPart(replies.Get(), owners, rule, flooding);
        }));
      },
      "With a shared key, the part of this owner in decide(reply, parts=...), which one other\n"
      "owner calls with the same arguments. owners: the numbers of all that open together. It\n"
      "checks, charges and records like decide. Valid for seven days.\n\n"
      "Errors as decide's; InvalidArgument for a wrong set of owners; FailedPrecondition for a\n"
      "whole key.",
      py::arg("reply"), py::arg("owners"), py::kw_only(), py::arg("score") = py::none(),
      py::arg("fmr") = py::none(), py::arg("fpir") = py::none(), py::arg("likelihood") = false,
      py::arg("others") = false, py::arg("security_bits") = 0,
      py::arg("openings") = Flooding{}.openings, py::arg("shards") = py::none());
  Method(
      c, "open_part",
      [](const OwnerHandle& self, const py::object& reply, const OwnerSet& owners, uint32_t publish,
         int security_bits, uint32_t openings, const std::optional<ShardList>& shards) {
        const GivenReplies replies(reply, shards);
        const auto flooding = FloodingOf(security_bits, openings);
        return BytesOf(Read(self, [&](const KeyOwner& owner) {
          return owner.OpenPart(replies.Get(), owners, publish, flooding);
        }));
      },
      "The same for open(reply, parts=...).", py::arg("reply"), py::arg("owners"), py::kw_only(),
      py::arg("publish") = kPublishedCandidates, py::arg("security_bits") = 0,
      py::arg("openings") = Flooding{}.openings, py::arg("shards") = py::none());
  Method(
      c, "approve_part",
      [](const OwnerHandle& self, const py::object& request, const OwnerSet& owners,
         const py::object& only, const py::object& reject, bool new_identities_only, bool put_back,
         const py::object& entries, const py::object& reject_entries, const py::object& hold,
         const std::optional<ShardList>& shards) {
        const Source source(request, "request");
        const ApprovalPolicy policy = PolicyOf(only, reject, new_identities_only, put_back, entries,
                                               reject_entries, hold, shards);
        return BytesOf(Read(self, [&](const KeyOwner& owner) {
          return owner.ApprovePart(source.bytes(), source.what(), owners, policy);
        }));
      },
      "The same for approve(request, parts=...).", py::arg("request"), py::arg("owners"),
      py::kw_only(), py::arg("only") = py::none(), py::arg("reject") = py::none(),
      py::arg("new_identities_only") = false, py::arg("put_back") = false,
      py::arg("entries") = py::none(), py::arg("reject_entries") = py::none(),
      py::arg("hold") = py::none(), py::arg("shards") = py::none());
  Method(
      c, "renew_part",
      [](const OwnerHandle& self, const py::object& request, const OwnerSet& owners) {
        const Source source(request, "request");
        return BytesOf(Read(self, [&](const KeyOwner& owner) {
          return owner.RenewPart(source.bytes(), source.what(), owners);
        }));
      },
      "The same for renew(request, parts=...). Given once for each request, without charge.",
      py::arg("request"), py::arg("owners"));
}

// WithBoth: f(old, next), beside readers of both.
template <typename F>
void WithBoth(const OwnerHandle& self, const OwnerHandle& next, F&& f) {
  const auto to = next.Get();
  Read(self, [&](const KeyOwner& old) -> absl::StatusOr<bool> {
    const Reading reading(to);
    const absl::Status done = f(old, static_cast<const KeyOwner&>(to->owner));
    return done.ok() ? absl::StatusOr<bool>(true) : done;
  });
}

void DefineRekeying(OwnerClass& c) {
  Method(
      c, "give_rekeying_part",
      [](const OwnerHandle& self, const OwnerHandle& next, const OwnerSet& owners,
         const py::object& path) {
        const std::string out = PathOf(path);
        WithBoth(self, next, [&](const KeyOwner& old, const KeyOwner& to) {
          return GiveRekeyingPart(old, to, owners, out);
        });
      },
      "A gallery moves to another shared key: writes this owner's part of the re-keying key, for\n"
      "one of the other owners, who calls combine_rekeying_key. next: this owner's share of the\n"
      "new key. owners: all that make the key together. This owner's record of queries goes to\n"
      "the new share, and the old share is revoked: an owner gives one part.\n\n"
      "FailedPrecondition for shares that do not belong together, or a revoked one;\n"
      "InvalidArgument, AlreadyExists, DataLoss.",
      py::arg("next"), py::arg("owners"), py::arg("path"));
  Method(
      c, "combine_rekeying_key",
      [](const OwnerHandle& self, const OwnerHandle& next, const py::object& parts,
         const py::object& path) {
        const ReplyFiles given(parts, "part");
        const std::string out = PathOf(path);
        WithBoth(self, next, [&](const KeyOwner& old, const KeyOwner& to) {
          return CombineRekeyingKey(old, to, given.files(), out);
        });
      },
      "Writes the re-keying key for the server, made of the parts of the other owners and this\n"
      "one's. Revokes this owner's old share too. Errors as give_rekeying_part's;\n"
      "FailedPrecondition for parts of others.",
      py::arg("next"), py::arg("parts"), py::arg("path"));
}

Replacement ReplacementOf(std::optional<uint32_t> replace,
                          const std::optional<std::string>& newcomer) {
  if (replace.has_value() != newcomer.has_value()) {
    Wrong("replace and newcomer: give both, to replace an owner, or neither");
  }
  if (!replace) return {};
  if (*replace == 0) Wrong("replace: owners have numbers from 1");
  return {*replace, Take(ParseSignerKey(*newcomer))};
}

void DefineNewShares(py::module_& m, OwnerClass& c) {
  Method(
      c, "give_new_shares",
      [](const OwnerHandle& self, const OwnerSet& owners, std::optional<uint32_t> replace,
         const std::optional<std::string>& newcomer) {
        const Replacement replacement = ReplacementOf(replace, newcomer);
        return BytesOf(Read(self, [&](const KeyOwner& owner) {
          return GiveNewShares(owner, owners, replacement);
        }));
      },
      "Gives this owner's message for new shares of the same key: for all owners, from which each\n"
      "makes its new share. owners: the numbers of those that give one, as many as open together.\n"
      "replace, newcomer: the number of an owner that is replaced, and the public key of its\n"
      "successor (make_blank_share). InvalidArgument, FailedPrecondition.",
      py::arg("owners"), py::kw_only(), py::arg("replace") = py::none(),
      py::arg("newcomer") = py::none());
  Method(
      c, "take_new_share",
      [](const OwnerHandle& self, const py::object& messages, const py::object& path,
         const py::object& passphrase) {
        const ReplyFiles given(messages, "message");
        const std::string out = PathOf(path);
        const PassphraseSource source = PassphraseOf(passphrase);
        Read(self, [&](const KeyOwner& owner) -> absl::StatusOr<bool> {
          const absl::Status taken = TakeNewShare(owner, given.files(), out, source);
          return taken.ok() ? absl::StatusOr<bool>(true) : taken;
        });
      },
      "Writes this owner's new share to a new file, and the new record beside it\n"
      "(PATH.ceremony). Once all owners have theirs, move it over the old share.\n"
      "FailedPrecondition for messages that do not belong together, or to this share;\n"
      "InvalidArgument, AlreadyExists, DataLoss, Unavailable.",
      py::arg("messages"), py::arg("path"), py::kw_only(), py::arg("passphrase") = py::none());
  Function(
      m, "make_blank_share",
      [](const Model& model, const py::object& record, uint32_t owner, const py::object& path,
         const py::object& passphrase) {
        const Source source(record, "the ceremony's record", kMaxRecordSize);
        const std::string out = PathOf(path);
        const PassphraseSource sealed = PassphraseOf(passphrase);
        return HexOf(
            Call([&] { return MakeBlankShare(model, source.bytes(), owner, out, sealed); }));
      },
      "Writes a share of nothing yet, for the successor of an owner, who loads it and calls\n"
      "take_new_share. Returns its public key, for the others' give_new_shares. record: the\n"
      "ceremony's (ceremony.heft). InvalidArgument, AlreadyExists, DataLoss, Unavailable.",
      py::arg("model"), py::arg("record"), py::arg("owner"), py::arg("path"), py::kw_only(),
      py::arg("passphrase") = py::none());
}

}  // namespace

void DefineSharedKeys(py::module_& m, OwnerClass& c) {
  DefineCeremony(m, c);
  DefineShares(c);
  DefineRekeying(c);
  DefineNewShares(m, c);
}

}  // namespace heft::python
