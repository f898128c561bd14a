// SPDX-License-Identifier: Apache-2.0
// The key owner's role. Secrets stay in the library: no Python object has their bytes, and no
// KeyOwner is pickled, copied or printed.
#include "heft/key_owner.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "heft/key_set.h"
#include "python/owner.h"

namespace heft::python {
namespace {

using Class = OwnerClass;

// The key owners that calls of this thread use, the innermost last.
thread_local std::vector<const OwnerState*> reading_here;

std::string SecretFile(const std::string& path) {
  std::error_code unknown;  // ignored: loading the file reports the error
  return std::filesystem::is_directory(path, unknown) ? path + "/secret.key" : path;
}

OwnerHandle Generate(const Model& model, const py::object& folder, const py::object& passphrase,
                     const py::object& progress) {
  if (folder.is_none()) return {Call([&] { return KeyOwner::Generate(model); }), model};
  const std::string path = PathOf(folder);
  const PassphraseSource source = PassphraseOf(passphrase);
  Watch watch(progress);
  auto made = Call([&]() -> absl::StatusOr<KeyOwner> {
    // The passphrase is asked for once. The library wipes the string that it gets, so keep a copy.
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
  });
  return {std::move(made), model};
}

OwnerHandle Load(const Model& model, const py::object& path, const py::object& passphrase) {
  const std::string file = PathOf(path);
  const PassphraseSource source = PassphraseOf(passphrase);
  return {Call([&] { return KeyOwner::Load(model, SecretFile(file), source); }), model};
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

void DefineKeySet(py::module_& m, Class& c) {
  Record<KeySet>(m, "KeySet", "Files of keys that were written.")
      .Field(
          "key_id", [](const KeySet& s) { return HexOf(s.key_id); }, "32 hexadecimal digits.")
      .Field("parameters", &KeySet::parameters, "In words.")
      .Field("security", &KeySet::security, "In words.")
      .Field("secret_key", &KeySet::secret_key, "Its file; empty if it was not written.")
      .Field("encryption_key", &KeySet::encryption_key, "Its file, for clients.")
      .Field("evaluation_keys", &KeySet::evaluation_keys, "Their file, for the matcher.")
      .Field("enrolment_keys", &KeySet::enrolment_keys, "The same; empty where there are none.")
      .Field("rekeying_key", &KeySet::rekeying_key, "Its file, after rekey.")
      .Field("trust", &KeySet::trust, "Its file: whom to believe, for all roles.");
  Method(
      c, "write_public_keys",
      [](const OwnerHandle& self, const py::object& folder, const py::object& progress) {
        const std::string path = PathOf(folder);
        Watch watch(progress);
        return Read(self,
                    [&](const KeyOwner& o) { return MakePublicKeys(o, path, watch.monitor()); });
      },
      "New encryption and evaluation keys, signed, in the place of those in a folder: after a "
      "model\n"
      "with other rotations, or for a secret key that came from SEAL. A trust file that is there "
      "stays,\n"
      "with this owner added. Unavailable, Cancelled.",
      py::arg("folder"), py::kw_only(), py::arg("progress") = py::none());
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
  DefineAnswers(c);
  DefineBudget(c);
  DefineCanaries(m, c);
  DefineKeySet(m, c);
  DefineOwnersSamples(c);
  DefineSeal(m, c);
  c.def("__repr__", [](const OwnerHandle& self) {
    return self.closed() ? std::string("<heft.KeyOwner, closed>")
                         : "<heft.KeyOwner " + HexOf(self.Get()->owner.key_id()) + ">";
  });
  ContextManager(c, "Wipes the secret key, once the calls that use it are back.");
  RefuseCopies(c, "a KeyOwner is a secret: it is not pickled or copied; load it from its file");
}

}  // namespace heft::python
