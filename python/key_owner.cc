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

void DefineSecretKey(OwnerClass& c) {
  StaticMethod(
      c, "generate", &Generate,
      "Makes a new secret key. With a folder, all keys are written there (secret.key,\n"
      "encryption.key, evaluation.keys, enrolment.keys, trust.heft), and openings are recorded\n"
      "in a journal beside the secret key. Without a folder nothing is stored.\n\n"
      "passphrase seals the secret key: a str, or a function that returns one. AlreadyExists,\n"
      "Unavailable, Cancelled.",
      py::arg("model"), py::arg("folder") = py::none(), py::kw_only(),
      py::arg("passphrase") = py::none(), py::arg("progress") = py::none());
  StaticMethod(
      c, "load", &Load,
      "Loads the secret key of a file, or of a folder that generate wrote. The journal is\n"
      "beside it. FailedPrecondition for a file that other users can read, another model, or a\n"
      "sealed key without a passphrase; InvalidArgument for a wrong passphrase; NotFound,\n"
      "DataLoss.",
      py::arg("model"), py::arg("path"), py::kw_only(), py::arg("passphrase") = py::none());
  c.def_property_readonly(
      "key_id", [](const OwnerHandle& self) { return HexOf(self.Get()->owner.key_id()); },
      "Id of the secret key, 32 hexadecimal digits.");
  c.def_property_readonly(
      "public_key",
      [](const OwnerHandle& self) {
        return HexOf(Read(self, [](const KeyOwner& o) { return o.Signer(); }).public_key());
      },
      "Public key of its signatures; 64 hexadecimal digits.");
}

void DefineKeySet(OwnerClass& c) {
  Method(
      c, "write_public_keys",
      [](const OwnerHandle& self, const py::object& folder, const py::object& progress) {
        const std::string path = PathOf(folder);
        Watch watch(progress);
        return Read(self,
                    [&](const KeyOwner& o) { return MakePublicKeys(o, path, watch.monitor()); });
      },
      "Replaces the encryption and evaluation keys in a folder by new, signed ones: for a model\n"
      "with other rotations, or for a secret key imported from SEAL. An existing trust file is\n"
      "kept, and this key owner is added. Unavailable, Cancelled.",
      py::arg("folder"), py::kw_only(), py::arg("progress") = py::none());
}

void DefinePublicKeys(OwnerClass& c) {
  Method(
      c, "signer",
      [](const OwnerHandle& self) {
        return HeldSigner(Read(self, [](const KeyOwner& o) { return o.Signer(); }),
                          "this signing key");
      },
      "The signing key of this key owner.");
  Method(
      c, "encryption_key",
      [](const OwnerHandle& self) {
        return BytesOf(Read(self, [](const KeyOwner& o) -> absl::StatusOr<std::vector<uint8_t>> {
          return o.EncryptionKey();
        }));
      },
      "The encryption key, for clients; about 270 kB.");
  Method(
      c, "evaluation_keys",
      [](const OwnerHandle& self, const py::object& progress) {
        Watch watch(progress);
        return BytesOf(
            Read(self, [&](const KeyOwner& o) { return o.EvaluationKeys(watch.monitor()); }));
      },
      "The evaluation keys, for the matcher. Cancelled.", py::arg("progress") = py::none());
  Method(
      c, "enrolment_keys",
      [](const OwnerHandle& self, const py::object& progress) {
        Watch watch(progress);
        return BytesOf(
            Read(self, [&](const KeyOwner& o) { return o.EnrolmentKeys(watch.monitor()); }));
      },
      "The enrolment keys, for the matcher to enrol and verify; empty if the profile has none.\n"
      "Cancelled.",
      py::arg("progress") = py::none());
  Method(c, "rekey", &Renew,
         "Makes a new secret key with all its keys in a new folder, and rekeying.key for\n"
         "Gallery.rekey, and returns the path of rekeying.key. This key is revoked.\n"
         "FailedPrecondition if it is revoked already.",
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
  OwnerClass c(
      m, "KeyOwner",
      "The key owner: makes the keys, opens the matcher's replies and decides. The secret key\n"
      "is in locked memory; it is not pickled, copied or printed. close() wipes it.");
  DefineSecretKey(c);
  DefinePublicKeys(c);
  DefineAnswers(c);
  DefineBudget(c);
  DefineCanaries(m, c);
  DefineKeySet(c);
  DefineSharedKeys(m, c);
  DefineOwnersSamples(c);
  DefineSeal(m, c);
  c.def("__repr__", [](const OwnerHandle& self) {
    return self.closed() ? std::string("<heft.KeyOwner, closed>")
                         : "<heft.KeyOwner " + HexOf(self.Get()->owner.key_id()) + ">";
  });
  ContextManager(c, "Wipes the secret key after the calls that use it have returned.");
  RefuseCopies(c, "a KeyOwner is a secret: it is not pickled or copied; load it from its file");
}

}  // namespace heft::python
