// SPDX-License-Identifier: Apache-2.0
// Workspace: all roles on one machine, each in a folder of its own that can move to its machine
// later. Inside it is the distributed way: the same files, signatures, checks and journal. Link
// heft::heft.
//
//   heft::Workspace::Create("people", model);
//   auto people = heft::Workspace::Open("people");
//   people->Add(std::vector<heft::Samples>{{"face", faces, labels}, {"voice", voices, labels}});
//   people->Search(probes, {.fpir = 0.01}, [](size_t row, const heft::Decision& decision) {
//     std::cout << row << " " << decision.identity << "\n";
//     return absl::OkStatus();
//   });
#ifndef HEFT_WORKSPACE_H_
#define HEFT_WORKSPACE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/client.h"
#include "heft/export.h"
#include "heft/gallery_admin.h"
#include "heft/key_owner.h"
#include "heft/model.h"
#include "heft/progress.h"

namespace heft {

// kWorkspaceFpir, kWorkspaceFmr: rates of a search and a verification where the caller says none.
inline constexpr double kWorkspaceFpir = 0.01;
inline constexpr double kWorkspaceFmr = 0.001;

// WorkspaceAdded: what became of the rows that were added.
struct WorkspaceAdded {
  size_t added = 0;      // templates that can be found now
  size_t templates = 0;  // in the gallery
  std::vector<Admissions::Group> rejected;
};

// WorkspaceRemoved: templates that were removed and erased.
struct WorkspaceRemoved {
  size_t removed = 0;
  size_t templates = 0;  // left in the gallery
  // Why the disk could not be overwritten yet; the next change tries again.
  absl::Status overwritten;
};

// Workspace: a folder of these roles, each with the files that it has on a machine of its own:
//
//   device/  model.heft, encryption.key, trust.heft, device.key
//   server/  model.heft, evaluation.keys, enrolment.keys, trust.heft, gallery/
//   owner/   model.heft, secret.key and its journal, trust.heft
//
// Requests are signed by the device, replies and requests for admission by the server, admissions
// by the key owner, and each role checks what it gets against its own trust file. Rows of all calls
// are one Samples a modality, in any order, of equally many rows; `encoding` and `use` are chosen
// here. Not thread-safe; processes wait for each other.
class HEFT_EXPORT Workspace {
 public:
  class HEFT_HIDDEN Impl;

  // Whether Create can make it, to be asked before a long training. kAlreadyExists, kNotFound where
  // the folder above it is not there.
  static absl::Status CheckFree(const std::string& folder);
  // Makes the folder: keys, trust, an empty gallery; all or nothing. `passphrase` seals the secret
  // key (MakeKeySet). CheckFree's errors.
  static absl::Status Create(const std::string& folder, const Model& model,
                             const PassphraseSource& passphrase = {}, const Monitor& monitor = {});
  // kNotFound where there is no folder, kFailedPrecondition for one that is no workspace or that a
  // role has left (ExportRole); errors of KeyOwner::Load and OpenSigned.
  static absl::StatusOr<Workspace> Open(const std::string& folder,
                                        const PassphraseSource& passphrase = {});

  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  ~Workspace();

  const Model& model() const;
  // The server's gallery, as heft/gallery.h names it.
  const std::string& gallery() const;

  // Adds rows with their labels: encrypts, enrols, admits. Several rows of one label are several
  // templates of one person. In batches of thousands of rows, each added whole or not at all; a
  // label is in one batch. kInvalidArgument without all modalities or a label for each row;
  // kAlreadyExists for a label that is enrolled, with nothing changed.
  absl::StatusOr<WorkspaceAdded> Add(std::span<const Samples> rows, const Monitor& monitor = {});

  // TakeDecision: what was decided of a row; its error ends the call.
  using TakeDecision = std::function<absl::Status(size_t row, const Decision& decision)>;
  // Searches the gallery for each row, and decides. Probes may lack modalities that the model
  // allows to lack. Errors of KeyOwner::Decide, among them kResourceExhausted; rows before the
  // error were decided, taken and charged.
  absl::Status Search(std::span<const Samples> rows, const DecisionRule& rule,
                      const TakeDecision& take, const Monitor& monitor = {});
  // Holds each row against one claimed identity, who need not be enrolled.
  absl::Status Verify(std::span<const Samples> rows, const std::string& identity,
                      const DecisionRule& rule, const TakeDecision& take,
                      const Monitor& monitor = {});

  // Removes people and erases what is left of them, with the key owner's renewal. kNotFound for
  // somebody who is not there, with nothing changed.
  absl::StatusOr<WorkspaceRemoved> Remove(const std::vector<std::string>& identities,
                                          const Monitor& monitor = {});

  // Moves a role ("device", "server" or "owner") out of the workspace `folder` into the new folder
  // `out`, to be taken to its machine (docs/roles.md). It moves because two copies of a journal or
  // of a gallery would diverge. kNotFound, kAlreadyExists; kFailedPrecondition where `out` is on
  // another file system.
  static absl::Status ExportRole(const std::string& folder, std::string_view role,
                                 const std::string& out);

 private:
  explicit Workspace(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_WORKSPACE_H_
