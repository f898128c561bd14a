// SPDX-License-Identifier: Apache-2.0
// Workspace: all roles on one machine, each in its own folder, which can later move to another
// machine. Internally it works as on separate machines: with the same files, signatures, checks and
// journal. Link heft::heft.
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
#include "heft/base.h"
#include "heft/client.h"
#include "heft/gallery_admin.h"
#include "heft/key_owner.h"
#include "heft/model.h"

namespace heft {

// kWorkspaceFpir, kWorkspaceFmr: default rates of a search and a verification.
inline constexpr double kWorkspaceFpir = 0.01;
inline constexpr double kWorkspaceFmr = 0.001;

// WorkspaceAdded: results for the added rows.
struct WorkspaceAdded {
  size_t added = 0;                         // templates that can now be found
  size_t templates = 0;                     // templates of the gallery
  std::vector<Admissions::Group> rejected;  // rejections by cause, as Admissions::groups
};

// WorkspaceRemoved: templates that were removed and erased.
struct WorkspaceRemoved {
  size_t removed = 0;        // templates that were removed and erased
  size_t templates = 0;      // templates left in the gallery
  absl::Status overwritten;  // whether deleted data are overwritten; the next change tries again
};

// Workspace: a folder of these roles, each with the files that it has on a machine of its own:
//
//   device/  model.heft, encryption.key, trust.heft, device.key
//   server/  model.heft, evaluation.keys, enrolment.keys, trust.heft, gallery/
//   owner/   model.heft, secret.key and its journal, trust.heft
//
// The device signs requests, the server replies and requests for admission, the key owner
// admissions, and each role checks its inputs against its own trust file. In all calls, `rows` is
// one Samples for each modality, in any order, with equally many rows; the workspace chooses
// `encoding` and `use`. Not thread-safe; processes wait for each other.
class HEFT_EXPORT Workspace {
 public:
  class HEFT_HIDDEN Impl;

  // Checks whether Create can create the folder; call it before a long training. kAlreadyExists;
  // kNotFound if the parent folder does not exist.
  static absl::Status CheckFree(const std::string& folder);
  // Creates the folder with keys, trust files and an empty gallery, completely or not at all.
  // `passphrase` seals the secret key (MakeKeySet). CheckFree's errors.
  static absl::Status Create(const std::string& folder, const Model& model,
                             const PassphraseSource& passphrase = {}, const Monitor& monitor = {});
  // kNotFound if the folder does not exist; kFailedPrecondition if it is not a workspace, or a role
  // has moved out (ExportRole); errors of KeyOwner::Load and OpenSigned.
  static absl::StatusOr<Workspace> Open(const std::string& folder,
                                        const PassphraseSource& passphrase = {});

  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  ~Workspace();

  const Model& model() const;
  // The server's gallery, named as in heft/gallery.h.
  const std::string& gallery() const;

  // Adds rows with their labels: encrypts, enrols and activates them. Several rows with one label
  // are several templates of one person. Rows are added in batches of thousands, each completely or
  // not at all; all rows of a label are in one batch. kInvalidArgument without all modalities or a
  // label for each row; kAlreadyExists, with nothing changed, for a label that is enrolled.
  absl::StatusOr<WorkspaceAdded> Add(std::span<const Samples> rows, const Monitor& monitor = {});

  // TakeDecision: receives the decision on a row; its error ends the call.
  using TakeDecision = std::function<absl::Status(size_t row, const Decision& decision)>;
  // Searches the gallery for each row and decides. Probes may lack modalities if the model permits
  // it. Errors of KeyOwner::Decide, among them kResourceExhausted; rows before the error were
  // decided, passed to `take` and charged.
  absl::Status Search(std::span<const Samples> rows, const DecisionRule& rule,
                      const TakeDecision& take, const Monitor& monitor = {});
  // Compares each row with one claimed identity, which need not be enrolled.
  absl::Status Verify(std::span<const Samples> rows, const std::string& identity,
                      const DecisionRule& rule, const TakeDecision& take,
                      const Monitor& monitor = {});

  // Removes and erases people, with the key owner's renewal. kNotFound, with nothing changed, for
  // an identity that is not enrolled.
  absl::StatusOr<WorkspaceRemoved> Remove(const std::vector<std::string>& identities,
                                          const Monitor& monitor = {});

  // Moves a role ("device", "server" or "owner") out of the workspace `folder` into the new folder
  // `out`, to be taken to its machine (docs/roles.md). It does not copy, because two copies of a
  // journal or a gallery would diverge. kNotFound, kAlreadyExists; kFailedPrecondition if `out` is
  // on another file system.
  static absl::Status ExportRole(const std::string& folder, std::string_view role,
                                 const std::string& out);

 private:
  explicit Workspace(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_WORKSPACE_H_
