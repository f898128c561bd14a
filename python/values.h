// SPDX-License-Identifier: Apache-2.0
// Classes that several files of the module use.
#ifndef HEFT_PYTHON_VALUES_H_
#define HEFT_PYTHON_VALUES_H_

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "heft/dataset.h"
#include "heft/gallery.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "heft/trust.h"
#include "python/arguments.h"
#include "python/define.h"

namespace heft {
struct Desk;
}  // namespace heft

namespace heft::python {

// Rooms: each defines its classes and functions.
void DefineRecords(py::module_& m);
void DefineDecisions(py::module_& m);
void DefineModel(py::module_& m);
void DefineTraining(py::module_& m);
void DefineTrust(py::module_& m);
void DefineClient(py::module_& m);
void DefineGallery(py::module_& m);
void DefineGalleryAdmin(py::module_& m);
void DefineSharding(py::module_& m);
void DefineMatcher(py::module_& m);
void DefineMatching(py::module_& m);
void DefineOpenings(py::module_& m);
void DefineKeyOwner(py::module_& m);
void DefineExpandedKeys(py::module_& m);
void DefineAudit(py::module_& m);
void DefineWorkspace(py::module_& m);

// CheckSigned: throws if `trust` is given and lists no key in this role that signed the file; for
// trainers only if it lists any.
void CheckSigned(const std::optional<Trust>& trust, std::span<const uint8_t> bytes, Role role,
                 const char* kind, const std::string& what);

// SignedOf: a SignedFile of Python's, with a copy of the file.
py::object SignedOf(const SignedFile& file);

// PassphraseOf: None, a str, or a function that returns one and is asked when it is needed.
PassphraseSource PassphraseOf(const py::object& passphrase);

// HeldSigner: a signing key that Python holds.
using HeldSigner = Held<SigningKey>;

// OwnerState: a key owner and its lock: a call that changes it runs alone.
struct OwnerState {
  explicit OwnerState(KeyOwner o) : owner(std::move(o)) {}
  KeyOwner owner;
  std::shared_mutex mutex;
};

// Reading: shares a key owner with other readers. A callback that uses the same owner on the same
// thread does not lock it again.
class Reading {
 public:
  explicit Reading(std::shared_ptr<OwnerState> state);
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading();
  // Whether this thread is in a call of that owner.
  static bool Here(const OwnerState& state);

 private:
  std::shared_ptr<OwnerState> state_;
};

// OwnerHandle: the key owner's role, under a model with these modalities.
class OwnerHandle {
 public:
  OwnerHandle(KeyOwner owner, const Model& model)
      : state_(std::make_shared<OwnerState>(std::move(owner)), "this key owner"),
        modalities_(model.modalities) {}
  const std::vector<ModalitySpec>& modalities() const { return modalities_; }
  std::shared_ptr<OwnerState> Get() const { return *state_.Get(); }
  void Close() { state_.Close(); }
  bool closed() const { return state_.closed(); }
  void Check() const { Get(); }

 private:
  Held<std::shared_ptr<OwnerState>> state_;
  std::vector<ModalitySpec> modalities_;
};

// MatcherHandle: the server's role.
class MatcherHandle {
 public:
  // `key_owner`: the signer of its keys and the audience of replies; zeros: unknown.
  MatcherHandle(Server server, const SignerKey& key_owner)
      : server_(std::move(server), "this matcher"), key_owner_(key_owner) {}
  const SignerKey& key_owner() const { return key_owner_; }
  std::shared_ptr<Server> Get() const { return server_.Get(); }
  void Close() { server_.Close(); }
  bool closed() const { return server_.closed(); }
  void Check() const { Get(); }

 private:
  Held<Server> server_;
  SignerKey key_owner_;
};

// GalleryHandle: a gallery by name. It holds no generation between calls, so that nothing that is
// removed is kept by it; each call takes the newest one, for as long as it runs.
class GalleryHandle {
 public:
  // Without opening it: for a gallery that is yet to be.
  explicit GalleryHandle(std::string name) : state_(std::make_shared<State>()) {
    state_->name = std::move(name);
  }
  const std::string& name() const { return state_->name; }
  // Any thread, without the interpreter's lock.
  absl::StatusOr<Gallery> Newest() const;
  absl::StatusOr<std::shared_ptr<const SigningKey>> Signer() const;
  // At: the desk, which takes the newest state and the signing key from this handle.
  Desk At(Desk desk) const;
  void Close();
  bool closed() const { return state_->closed; }
  void Check() const;

 private:
  struct State {
    std::string name;
    std::mutex mutex;
    std::shared_ptr<const Gallery> base;  // unread: later generations share its cache of blocks
    std::shared_ptr<const SigningKey> signer;
    std::atomic<bool> closed = false;
  };
  std::shared_ptr<State> state_;
};
using GalleryClass = py::class_<GalleryHandle>;
using MatcherClass = py::class_<MatcherHandle>;

// HandleOf: a Gallery, or the name of one.
GalleryHandle HandleOf(const py::object& gallery);

}  // namespace heft::python

#endif  // HEFT_PYTHON_VALUES_H_
