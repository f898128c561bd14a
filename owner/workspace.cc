// SPDX-License-Identifier: Apache-2.0
#include "heft/workspace.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/status.h"
#include "fusion/compact.h"
#include "heft/audit.h"
#include "heft/desk.h"
#include "heft/key_set.h"
#include "heft/openings.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {
namespace {

constexpr char kMark[] = "workspace.txt";
constexpr char kMarkText[] =
    "HEFT workspace 1\n"
    "device/  encrypts and signs requests\n"
    "server/  holds the gallery, cannot decrypt\n"
    "owner/   holds the secret key and its journal: nobody else may read it\n"
    "heft export-role moves one of them out, to be taken to a machine of its own.\n";
constexpr const char* kRoles[] = {"device", "server", "owner"};

// Rows of a search or verification whose replies are held at once.
constexpr size_t kProbesAtOnce = 64, kClaimsAtOnce = 16;
// From so many rows of an enrolment on a ciphertext a coordinate is less work.
constexpr size_t kFewestInBulk = 100;

std::string At(const std::string& folder, std::string_view name) {
  return absl::StrCat(folder, "/", std::string(name));
}

absl::Status CheckWorkspace(const std::string& folder) {
  if (!FileExists(folder)) {
    return absl::NotFoundError(absl::StrCat(folder, ": no such workspace (heft init makes one)"));
  }
  const auto mark = ReadTextFile(At(folder, kMark), 1 << 12);
  if (mark.ok() && mark->rfind("HEFT workspace 1\n", 0) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(folder, ": not a workspace, because it holds no ", kMark, " (heft init)"));
}

absl::Status CheckRole(const std::string& folder, std::string_view role) {
  if (FileExists(At(folder, role))) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(At(folder, role), " is not there: the ", std::string(role),
                   " has left this workspace, so its work goes on by the commands of the roles "
                   "(docs/roles.md)"));
}

absl::Status Copy(const std::string& from, const std::string& to) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(from));
  return WriteFileAtomic(to, bytes);
}

absl::Status MoveTo(const std::string& from, const std::string& to) {
  std::error_code failed;
  std::filesystem::rename(from, to, failed);
  if (!failed) return absl::OkStatus();
  if (failed == std::errc::cross_device_link) {
    return absl::FailedPreconditionError(
        absl::StrCat(to, " is on another file system than ", from,
                     ": choose a folder beside the workspace, and move that with mv"));
  }
  return absl::UnavailableError(absl::StrCat(from, " to ", to, ": ", failed.message()));
}

absl::StatusOr<Model> ReadModelOf(const std::string& role, const Trust& trust) {
  const std::string path = role + "/model.heft";
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxModelSize));
  return ReadTrustedModel(&trust, bytes, path);
}

}  // namespace

// The device: encrypts, and signs its requests. It has a named namespace, because Workspace::Impl
// has a member of this type.
namespace workspace {
struct Device {
  Client client;
  SigningKey key;
  SignerKey server{};  // receives the requests

  static absl::StatusOr<Device> Load(const std::string& folder) {
    HEFT_ASSIGN_OR_RETURN(const Trust trust, Trust::LoadGuarded(folder + "/trust.heft"));
    const std::string path = folder + "/encryption.key";
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxKeysSize));
    const Expected expected = {.roles = {Role::kKeyOwner}, .kind = "PUBK"};
    HEFT_RETURN_IF_ERROR(OpenSigned(bytes, trust, expected, path).status());
    HEFT_ASSIGN_OR_RETURN(const Model model, ReadModelOf(folder, trust));
    HEFT_ASSIGN_OR_RETURN(Client client, Client::Create(model, bytes, path));
    HEFT_ASSIGN_OR_RETURN(SigningKey key, SigningKey::Load(folder + "/device.key"));
    const std::vector<Trust::Key>& servers = trust.keys(Role::kServer);
    if (servers.size() != 1) {
      return absl::FailedPreconditionError(
          absl::StrCat(folder, "/trust.heft: lists ", servers.size(), " servers instead of one"));
    }
    return Device{std::move(client), std::move(key), servers[0].key};
  }

  absl::StatusOr<std::vector<SampleFile>> Ask(std::span<const Samples> rows) const {
    std::vector<SampleFile> files;
    for (const Samples& samples : rows) {
      HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, client.Encrypt(samples));
      Statement statement;
      statement.role = Role::kClient;
      statement.audience = server;
      statement.issued = UnixTime();
      statement.expires = statement.issued + kLife;
      HEFT_ASSIGN_OR_RETURN(bytes, key.Sign(statement, bytes));
      files.push_back({std::move(bytes), std::string(samples.modality)});
    }
    return files;
  }
};
}  // namespace workspace
using workspace::Device;

namespace {

// The server's keys, those for enrolment and verification where they are needed.
absl::StatusOr<TrustedServer> LoadServer(const std::string& folder, bool enrols) {
  HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::LoadGuarded(folder + "/trust.heft"));
  HEFT_ASSIGN_OR_RETURN(const Model model, ReadModelOf(folder, trust));
  HEFT_ASSIGN_OR_RETURN(const LoadedKeys evaluation, LoadedKeys::Read(folder + "/evaluation.keys"));
  LoadedKeys enrolment;
  const std::string path = folder + "/enrolment.keys";
  if (enrols && FileExists(path)) {  // profiles of one ring have none
    HEFT_ASSIGN_OR_RETURN(enrolment, LoadedKeys::Read(path));
  }
  HEFT_ASSIGN_OR_RETURN(const CheckedKeys keys,
                        CheckKeys(&trust, evaluation.view(), enrolment.view()));
  return TrustedServer::Create(model, std::move(trust), keys);
}

// Expands the server's keys once, so that each command maps them (heft-server prepare-keys).
absl::Status ExpandKeys(const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(const Trust trust, Trust::LoadGuarded(folder + "/trust.heft"));
  HEFT_ASSIGN_OR_RETURN(const Model model, ReadModelOf(folder, trust));
  for (const char* name : {"evaluation.keys", "enrolment.keys"}) {
    const std::string path = At(folder, name);
    if (!FileExists(path)) continue;
    HEFT_ASSIGN_OR_RETURN(LoadedKeys keys, LoadedKeys::Read(path));
    HEFT_RETURN_IF_ERROR(keys.Expand(model));
  }
  return absl::OkStatus();
}

// Part: rows `at` of all modalities, in a form for `use`.
struct Part {
  std::vector<std::vector<float>> values;
  std::vector<std::string> labels;
  std::vector<Samples> samples;
};
Part Take(std::span<const Samples> rows, std::span<const size_t> dimensions,
          std::span<const size_t> at, SampleUse use) {
  Part part;
  for (size_t row : at) {
    if (!rows[0].labels.empty()) part.labels.push_back(rows[0].labels[row]);
  }
  part.values.resize(rows.size());
  for (size_t m = 0; m < rows.size(); ++m) {
    for (size_t row : at) {
      const auto vector = rows[m].values.subspan(row * dimensions[m], dimensions[m]);
      part.values[m].insert(part.values[m].end(), vector.begin(), vector.end());
    }
  }
  for (size_t m = 0; m < rows.size(); ++m) {
    part.samples.push_back({.modality = rows[m].modality,
                            .values = part.values[m],
                            .labels = part.labels,
                            .use = use});
  }
  return part;
}

// Checked: how many rows there are, and the dimension of each modality.
struct Checked {
  size_t rows = 0;
  std::vector<size_t> dimensions;
};
absl::StatusOr<Checked> Check(const Model& model, std::span<const Samples> rows) {
  Checked checked;
  std::set<std::string_view> seen;
  if (rows.empty()) return absl::InvalidArgumentError("no vectors: give those of a modality");
  for (const Samples& samples : rows) {
    const std::string name(samples.modality);
    HEFT_ASSIGN_OR_RETURN(const size_t index, model.FindModality(name));
    if (!seen.insert(samples.modality).second) {
      return absl::InvalidArgumentError(absl::StrCat(name, " is given twice"));
    }
    const size_t dimension = model.modalities[index].dimension;
    if (samples.values.empty() || samples.values.size() % dimension != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": ", samples.values.size(), " numbers are no rows of ", dimension));
    }
    const size_t count = samples.values.size() / dimension;
    if (checked.rows != 0 && count != checked.rows) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " has ", count, " rows, ", std::string(rows[0].modality), " has ", checked.rows));
    }
    for (size_t row = 0; row < count; ++row) {
      const auto values = samples.values.subspan(row * dimension, dimension);
      const std::vector<double> vector(values.begin(), values.end());
      const auto unit = NormalisedVector(vector, model.modalities[index]);
      if (!unit.ok()) return AtRow(unit.status(), row);
    }
    checked.rows = count;
    checked.dimensions.push_back(dimension);
  }
  if (!rows[0].labels.empty() && rows[0].labels.size() != checked.rows) {
    return absl::InvalidArgumentError(
        absl::StrCat(rows[0].labels.size(), " labels for ", checked.rows, " rows"));
  }
  return checked;
}

// Batches: rows in the order of their labels' first appearance, cut so that no label is in two.
std::vector<std::vector<size_t>> Batches(std::span<const std::string> labels) {
  std::map<std::string_view, size_t> number;
  std::vector<std::vector<size_t>> people;
  for (size_t row = 0; row < labels.size(); ++row) {
    const auto [it, fresh] = number.try_emplace(labels[row], people.size());
    if (fresh) people.emplace_back();
    people[it->second].push_back(row);
  }
  std::vector<std::vector<size_t>> batches;
  for (const std::vector<size_t>& person : people) {
    if (batches.empty() || batches.back().size() + person.size() > kMaxBulkRows) {
      batches.emplace_back();
    }
    batches.back().insert(batches.back().end(), person.begin(), person.end());
  }
  return batches;
}

// Fill: all that a new workspace holds, its mark last.
absl::Status Fill(const std::string& folder, const Model& model, const PassphraseSource& passphrase,
                  const Monitor& monitor) {
  const std::string device = folder + "/device", server = folder + "/server";
  const std::string owner = folder + "/owner", gallery = server + "/gallery";
  for (const std::string& role : {device, server, owner}) {
    if (mkdir(role.c_str(), 0700) != 0) {
      return absl::UnavailableError(absl::StrCat(role, ": ", std::strerror(errno)));
    }
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(role + "/model.heft", model.Serialize()));
  }
  HEFT_ASSIGN_OR_RETURN(const KeySet keys, MakeKeySet(model, owner, passphrase, monitor));
  HEFT_RETURN_IF_ERROR(Copy(keys.encryption_key, device + "/encryption.key"));
  HEFT_RETURN_IF_ERROR(MoveTo(keys.evaluation_keys, server + "/evaluation.keys"));
  if (!keys.enrolment_keys.empty()) {
    HEFT_RETURN_IF_ERROR(MoveTo(keys.enrolment_keys, server + "/enrolment.keys"));
  }
  HEFT_ASSIGN_OR_RETURN(const SigningKey client, SigningKey::Generate());
  HEFT_RETURN_IF_ERROR(client.Save(device + "/device.key"));
  HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::Load(keys.trust));
  HEFT_RETURN_IF_ERROR(trust.Add(Role::kClient, "device", client.public_key()));
  HEFT_RETURN_IF_ERROR(trust.Save(server + "/trust.heft"));
  HEFT_RETURN_IF_ERROR(ExpandKeys(server));
  {
    HEFT_ASSIGN_OR_RETURN(const TrustedServer served, LoadServer(server, /*enrols=*/false));
    HEFT_ASSIGN_OR_RETURN(const GalleryId id, Desk(served).Create(gallery));
    HEFT_ASSIGN_OR_RETURN(const SigningKey signer, GallerySigner(gallery));
    HEFT_RETURN_IF_ERROR(trust.Add(Role::kServer, "server", signer.public_key()));
    trust.Pin(id);
  }
  for (const std::string& role : {device, server, owner}) {
    HEFT_RETURN_IF_ERROR(trust.Save(role + "/trust.heft"));
  }
  return WriteFileAtomic(At(folder, kMark), std::string_view(kMarkText));
}

}  // namespace

class Workspace::Impl {
 public:
  static absl::StatusOr<std::unique_ptr<Impl>> Open(const std::string& folder,
                                                    const PassphraseSource& passphrase) {
    HEFT_RETURN_IF_ERROR(CheckWorkspace(folder));
    for (std::string_view role : kRoles) HEFT_RETURN_IF_ERROR(CheckRole(folder, role));
    HEFT_ASSIGN_OR_RETURN(Device device, Device::Load(folder + "/device"));
    const std::string owners = folder + "/owner";
    HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::LoadGuarded(owners + "/trust.heft"));
    HEFT_ASSIGN_OR_RETURN(const Model model, ReadModelOf(owners, trust));
    HEFT_ASSIGN_OR_RETURN(KeyOwner owner,
                          KeyOwner::Load(model, owners + "/secret.key", passphrase));
    HEFT_RETURN_IF_ERROR(owner.RequireSigned(std::move(trust)));
    owner.RequireSignedGallery();
    return std::unique_ptr<Impl>(new Impl(folder, std::move(device), std::move(owner)));
  }

  const Model& model() const { return device_.client.model(); }
  const std::string& gallery() const { return gallery_; }

  absl::StatusOr<WorkspaceAdded> Add(std::span<const Samples> rows, const Monitor& monitor);
  absl::Status Ask(std::span<const Samples> rows, const std::optional<std::string>& claimed,
                   const DecisionRule& rule, const TakeDecision& take, const Monitor& monitor);
  absl::StatusOr<WorkspaceRemoved> Remove(const std::vector<std::string>& identities,
                                          const Monitor& monitor);

 private:
  Impl(const std::string& folder, Device device, KeyOwner owner)
      : folder_(folder),
        gallery_(folder + "/server/gallery"),
        device_(std::move(device)),
        owner_(std::move(owner)) {}

  // One process at a time changes the workspace.
  absl::StatusOr<FileLock> Lock() const { return FileLock::Take(folder_ + "/lock", 0600); }
  absl::StatusOr<const TrustedServer*> Serve(bool enrols) {
    if (!server_ || (enrols && !enrols_)) {
      server_.reset();
      HEFT_ASSIGN_OR_RETURN(server_, LoadServer(folder_ + "/server", enrols));
      enrols_ = enrols;
    }
    return &*server_;
  }
  absl::Status CheckNew(std::span<const std::string> labels) const;
  absl::StatusOr<ActivateResult> ActivateSome(const TrustedServer& served, WorkspaceAdded* added,
                                              const Monitor& monitor);
  absl::Status ActivatePending(const TrustedServer& served, WorkspaceAdded* added,
                               const Monitor& monitor);
  absl::Status EraseLeaving(const TrustedServer& served, absl::Status* overwritten,
                            const Monitor& monitor);
  absl::Status Settle(const TrustedServer& served, const Monitor& monitor);
  absl::Status Enrol(const TrustedServer& served, const Part& part, const Monitor& monitor);
  // The server keeps the end of the key owner's journal, so an older journal is noticed.
  absl::Status HandOver(const TrustedServer& served) const;
  absl::Status AskSome(const TrustedServer& served, const Part& part,
                       const std::optional<std::string>& claimed, const DecisionRule& rule,
                       size_t first, const TakeDecision& take, const Monitor& monitor);

  const std::string folder_, gallery_;
  Device device_;
  KeyOwner owner_;
  std::optional<TrustedServer> server_;
  bool enrols_ = false;
};

// Of all labels, before anything is changed.
absl::Status Workspace::Impl::CheckNew(std::span<const std::string> labels) const {
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(gallery_));
  const std::vector<std::string> enrolled = gallery.identities();
  const std::set<std::string_view> names(enrolled.begin(), enrolled.end());
  for (const std::string& label : labels) {
    if (names.contains(label)) {
      return absl::AlreadyExistsError(
          absl::StrCat("\"", label,
                       "\" is enrolled already, so nothing was added: choose another "
                       "name, or remove the old templates first"));
    }
  }
  return absl::OkStatus();
}

// One request for admission: the server asks, the key owner answers, the server lets in.
absl::StatusOr<ActivateResult> Workspace::Impl::ActivateSome(const TrustedServer& served,
                                                             WorkspaceAdded* added,
                                                             const Monitor& monitor) {
  const Desk desk(served);
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> request, desk.Pending(gallery_, PendingLimit{}));
  HEFT_ASSIGN_OR_RETURN(Admissions answer, owner_.Approve(request, "the request for admission"));
  HEFT_ASSIGN_OR_RETURN(const ActivateResult done,
                        desk.Activate(gallery_, answer.signed_admission, "the admission", monitor));
  added->added += done.activated;
  added->templates = done.templates;
  for (Admissions::Group& group : answer.groups) added->rejected.push_back(std::move(group));
  return done;
}

// All that waits; then the key owner signs the state that this has led to.
absl::Status Workspace::Impl::ActivatePending(const TrustedServer& served, WorkspaceAdded* added,
                                              const Monitor& monitor) {
  for (bool more = true; more;) {
    HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, DescribeGallery(gallery_));
    if (info.pending == 0) break;
    HEFT_ASSIGN_OR_RETURN(const ActivateResult done, ActivateSome(served, added, monitor));
    more = done.activated + done.rejected > 0;
  }
  HEFT_RETURN_IF_ERROR(served.server.Fold(gallery_));
  HEFT_RETURN_IF_ERROR(ActivateSome(served, added, monitor).status());
  return RememberGeneration(gallery_);
}

// Erases the remains of removed people, with the key owner's help; `overwritten`: as the last
// renewal's, where there was one.
absl::Status Workspace::Impl::EraseLeaving(const TrustedServer& served, absl::Status* overwritten,
                                           const Monitor& monitor) {
  const Desk desk(served);
  bool renewed = false;
  while (true) {
    const auto request = desk.AskRenewal(gallery_, {}, {}, monitor);
    if (absl::IsNotFound(request.status())) break;
    HEFT_RETURN_IF_ERROR(request.status());
    HEFT_ASSIGN_OR_RETURN(const RenewedBlocks answer,
                          owner_.Renew(*request, "the request for renewal"));
    HEFT_ASSIGN_OR_RETURN(const RenewResult done,
                          desk.Renew(gallery_, answer.signed_renewal, "the renewal"));
    *overwritten = done.overwritten;
    renewed = true;
  }
  WorkspaceAdded others;
  return renewed ? ActivatePending(served, &others, monitor) : absl::OkStatus();
}

// Completes an interrupted call: approves the pending people and erases the removed ones. There was
// one if the key owner has not signed the gallery as it is.
absl::Status Workspace::Impl::Settle(const TrustedServer& served, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, DescribeGallery(gallery_));
  const std::string path = StateFile(gallery_);
  if (FileExists(path)) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> state, ReadFile(path));
    HEFT_ASSIGN_OR_RETURN(const SignedFile said, ReadSigned(state, path));
    if (said.statement.generation == info.generation) return absl::OkStatus();
  }
  WorkspaceAdded before;
  absl::Status overwritten;
  HEFT_RETURN_IF_ERROR(ActivatePending(served, &before, monitor));
  return EraseLeaving(served, &overwritten, monitor);
}

absl::Status Workspace::Impl::Enrol(const TrustedServer& served, const Part& part,
                                    const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(std::vector<SampleFile> files, device_.Ask(part.samples));
  return Desk(served).Enrol({.gallery = gallery_, .files = std::move(files)}, monitor).status();
}

absl::StatusOr<WorkspaceAdded> Workspace::Impl::Add(std::span<const Samples> rows,
                                                    const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Checked checked, Check(model(), rows));
  if (rows.size() != model().modalities.size()) {
    std::vector<std::string> names;
    for (const ModalitySpec& modality : model().modalities) names.push_back(modality.name);
    return absl::InvalidArgumentError(absl::StrCat(
        "vectors of ", rows.size(), " of ", names.size(),
        " modalities: everybody is added with all of them: ", absl::StrJoin(names, ", ")));
  }
  if (rows[0].labels.empty()) {
    return absl::InvalidArgumentError("no labels: give the identity of each row");
  }
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, Lock());
  HEFT_ASSIGN_OR_RETURN(const TrustedServer* served, Serve(/*enrols=*/true));
  HEFT_RETURN_IF_ERROR(Settle(*served, monitor));
  HEFT_RETURN_IF_ERROR(CheckNew(rows[0].labels));
  const size_t widest = *std::max_element(checked.dimensions.begin(), checked.dimensions.end());
  WorkspaceAdded added;
  for (const std::vector<size_t>& batch : Batches(rows[0].labels)) {
    Part part = Take(rows, checked.dimensions, batch, SampleUse::kEnrolment);
    if (batch.size() >= kFewestInBulk && batch.size() > widest) {
      for (Samples& samples : part.samples) samples.encoding = SampleEncoding::kBulk;
    }
    HEFT_RETURN_IF_ERROR(Enrol(*served, part, monitor));
    HEFT_RETURN_IF_ERROR(ActivatePending(*served, &added, monitor));
  }
  return added;
}

absl::Status Workspace::Impl::HandOver(const TrustedServer& served) const {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> head, owner_.SignedHead());
  return served.TakeHead(gallery_, head, "the end of the key owner's journal").status();
}

absl::Status Workspace::Impl::AskSome(const TrustedServer& served, const Part& part,
                                      const std::optional<std::string>& claimed,
                                      const DecisionRule& rule, size_t first,
                                      const TakeDecision& take, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<SampleFile> files, device_.Ask(part.samples));
  std::vector<std::vector<uint8_t>> replies;
  const auto keep = [&](SignedReply reply) {
    replies.push_back(std::move(reply.bytes));
    return absl::OkStatus();
  };
  MatchRequest request = {
      .gallery = gallery_, .files = files, .claimed = claimed, .all = true, .complete = true};
  const Desk desk(served);
  HEFT_RETURN_IF_ERROR((claimed ? desk.Verify(std::move(request), keep, monitor)
                                : desk.Identify(std::move(request), keep, monitor))
                           .status());
  std::vector<Decision> decisions;
  absl::Status stopped;
  {
    HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(gallery_));
    for (size_t i = 0; i < replies.size() && stopped.ok(); ++i) {
      const ReplyFile file = {replies[i], "the server's reply"};
      const Replies one = {{&file, 1}};
      stopped = CheckAnswer(one, {.gallery = gallery.id(), .request = files, .row = i});
      if (!stopped.ok()) break;
      auto decision = owner_.Decide(one, rule);
      stopped = decision.status();
      if (stopped.ok()) decisions.push_back(*std::move(decision));
    }
  }
  // No decision is told before the server knows of its opening.
  if (!decisions.empty()) HEFT_RETURN_IF_ERROR(HandOver(served));
  for (size_t i = 0; i < decisions.size(); ++i) {
    HEFT_RETURN_IF_ERROR(take(first + i, decisions[i]));
  }
  return stopped;
}

absl::Status Workspace::Impl::Ask(std::span<const Samples> rows,
                                  const std::optional<std::string>& claimed,
                                  const DecisionRule& rule, const TakeDecision& take,
                                  const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Checked checked, Check(model(), rows));
  HEFT_ASSIGN_OR_RETURN(const TrustedServer* served, Serve(/*enrols=*/claimed.has_value()));
  {
    HEFT_ASSIGN_OR_RETURN(const FileLock lock, Lock());
    HEFT_RETURN_IF_ERROR(Settle(*served, monitor));
  }
  const SampleUse use = claimed ? SampleUse::kEnrolment : SampleUse::kIdentification;
  const size_t at_once = claimed ? kClaimsAtOnce : kProbesAtOnce;
  for (size_t first = 0; first < checked.rows; first += at_once) {
    std::vector<size_t> at;
    for (size_t row = first; row < std::min(first + at_once, checked.rows); ++row) {
      at.push_back(row);
    }
    const Part part = Take(rows, checked.dimensions, at, use);
    HEFT_RETURN_IF_ERROR(AskSome(*served, part, claimed, rule, first, take, monitor));
  }
  return absl::OkStatus();
}

absl::StatusOr<WorkspaceRemoved> Workspace::Impl::Remove(const std::vector<std::string>& identities,
                                                         const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, Lock());
  HEFT_ASSIGN_OR_RETURN(const TrustedServer* served, Serve(/*enrols=*/true));
  HEFT_ASSIGN_OR_RETURN(const RemoveResult done, Desk(*served).Remove(gallery_, identities));
  WorkspaceRemoved removed = {.removed = done.removed, .overwritten = done.overwritten};
  WorkspaceAdded others;  // who waited
  HEFT_RETURN_IF_ERROR(ActivatePending(*served, &others, monitor));
  HEFT_RETURN_IF_ERROR(EraseLeaving(*served, &removed.overwritten, monitor));
  removed.templates = others.templates;
  return removed;
}

absl::Status Workspace::CheckFree(const std::string& folder) {
  if (FileExists(folder)) {
    return absl::AlreadyExistsError(absl::StrCat(
        folder, CheckWorkspace(folder).ok() ? " is a workspace already" : " exists already",
        ": choose another name"));
  }
  const std::filesystem::path above =
      std::filesystem::path(folder + "/").parent_path().parent_path();
  if (above.empty() || FileExists(above.string())) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(folder, ": there is no folder ", above.string()));
}

absl::Status Workspace::Create(const std::string& folder, const Model& model,
                               const PassphraseSource& passphrase, const Monitor& monitor) {
  HEFT_RETURN_IF_ERROR(CheckFree(folder));
  if (mkdir(folder.c_str(), 0700) != 0) {
    return absl::UnavailableError(absl::StrCat(folder, ": ", std::strerror(errno)));
  }
  const absl::Status filled = Fill(folder, model, passphrase, monitor);
  if (!filled.ok()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  return filled;
}

absl::StatusOr<Workspace> Workspace::Open(const std::string& folder,
                                          const PassphraseSource& passphrase) {
  HEFT_ASSIGN_OR_RETURN(std::unique_ptr<Impl> impl, Impl::Open(folder, passphrase));
  return Workspace(std::move(impl));
}

absl::Status Workspace::ExportRole(const std::string& folder, std::string_view role,
                                   const std::string& out) {
  if (std::find(std::begin(kRoles), std::end(kRoles), role) == std::end(kRoles)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(role), "\" is none of ", absl::StrJoin(kRoles, ", ")));
  }
  HEFT_RETURN_IF_ERROR(CheckWorkspace(folder));
  HEFT_RETURN_IF_ERROR(CheckRole(folder, role));
  std::string to = out;
  while (to.size() > 1 && to.back() == '/') to.pop_back();
  if (FileExists(to)) {
    return absl::AlreadyExistsError(absl::StrCat(to, " exists already: choose another folder"));
  }
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Take(folder + "/lock", 0600));
  return MoveTo(At(folder, role), to);
}

Workspace::Workspace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
Workspace::~Workspace() = default;

const Model& Workspace::model() const { return impl_->model(); }
const std::string& Workspace::gallery() const { return impl_->gallery(); }

absl::StatusOr<WorkspaceAdded> Workspace::Add(std::span<const Samples> rows,
                                              const Monitor& monitor) {
  return impl_->Add(rows, monitor);
}

absl::Status Workspace::Search(std::span<const Samples> rows, const DecisionRule& rule,
                               const TakeDecision& take, const Monitor& monitor) {
  return impl_->Ask(rows, std::nullopt, rule, take, monitor);
}

absl::Status Workspace::Verify(std::span<const Samples> rows, const std::string& identity,
                               const DecisionRule& rule, const TakeDecision& take,
                               const Monitor& monitor) {
  return impl_->Ask(rows, identity, rule, take, monitor);
}

absl::StatusOr<WorkspaceRemoved> Workspace::Remove(const std::vector<std::string>& identities,
                                                   const Monitor& monitor) {
  return impl_->Remove(identities, monitor);
}

}  // namespace heft
