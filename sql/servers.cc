// SPDX-License-Identifier: Apache-2.0
#include "sql/servers.h"

#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "heft/expanded_keys.h"

namespace heft::sql {
namespace {

// kMostServers: of one backend: each has some 16 MB of keys, and 66 more to enrol.
constexpr size_t kMostServers = 4;

// Keys: as they are in the table, or expanded in a file.
struct Keys {
  ByteSpan bytes;
  std::optional<ExpandedKeys> expanded;
  SignerKey signer{};
  KeyFile view(std::string_view what) const {
    return {bytes, what, expanded ? &*expanded : nullptr};
  }
};

absl::Status CheckKeys(const Trust& trust, const std::string& kind, std::string_view what,
                       Keys* keys) {
  const Expected expected = {.roles = {Role::kKeyOwner}, .kind = kind};
  absl::StatusOr<SignedFile> file = keys->expanded
                                        ? keys->expanded->CheckSigned(trust, expected, what)
                                        : OpenSigned(keys->bytes, trust, expected, what);
  HEFT_RETURN_IF_ERROR(file.status());
  keys->signer = file->signer;
  if (!keys->expanded) keys->bytes = file->file;
  return absl::OkStatus();
}

absl::StatusOr<Model> ReadModel(ByteSpan bytes, const Trust& trust) {
  if (trust.Lists(Role::kTrainer)) {
    const Expected expected = {.roles = {Role::kTrainer}, .kind = "MODL"};
    HEFT_RETURN_IF_ERROR(OpenSigned(bytes, trust, expected, "the model").status());
  }
  if (IsSigned(bytes)) {
    HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(bytes, "the model"));
    bytes = file.file;
  }
  return Model::Parse(bytes, "the model");
}

absl::StatusOr<std::shared_ptr<const LoadedServer>> Make(const Model& model, Trust trust,
                                                         Keys evaluation, Keys enrolment) {
  HEFT_RETURN_IF_ERROR(CheckKeys(trust, "EVAL", "evaluation keys", &evaluation));
  if (!enrolment.bytes.empty() || enrolment.expanded) {
    HEFT_RETURN_IF_ERROR(CheckKeys(trust, "ENRK", "enrolment keys", &enrolment));
    if (enrolment.signer != evaluation.signer) {
      return absl::FailedPreconditionError(
          "enrolment keys: signed by another key owner than the evaluation keys");
    }
  }
  HEFT_ASSIGN_OR_RETURN(Server server, Server::CreateFrom(model, evaluation.view("evaluation keys"),
                                                          enrolment.view("enrolment keys")));
  return std::make_shared<const LoadedServer>(
      LoadedServer{std::move(server), std::move(trust), evaluation.signer});
}

// Expand: keys of this name, in a file that backends share; without it they are parsed. Nothing of
// it is an error: what is there is believed only if this user wrote it.
std::optional<ExpandedKeys> Expand(const Model& model, const std::string& folder,
                                   const std::string& name, ByteSpan bytes) {
  if (folder.empty() || bytes.empty()) return std::nullopt;
  const std::string path = absl::StrCat(folder, "/", name, ".keys");
  const std::string expanded = absl::StrCat(path, ".expanded");
  if (auto keys = ExpandedKeys::Open(expanded, path); keys.ok()) return *std::move(keys);
  if (!MakeDirectories(folder).ok() || !WriteFileAtomic(path, bytes, 0600).ok() ||
      !ExpandedKeys::Make(model, path, expanded).ok()) {
    return std::nullopt;
  }
  auto keys = ExpandedKeys::Open(expanded, path);
  if (!keys.ok()) return std::nullopt;
  return *std::move(keys);
}

// Row: of heft.galleries.
struct Row {
  std::string model, evaluation_keys, enrolment_keys;  // fingerprints; none: empty
  std::string trust;
  auto operator<=>(const Row&) const = default;
};

std::string TextOf(const std::optional<ByteSpan>& value) {
  return value ? std::string(value->begin(), value->end()) : std::string();
}

absl::StatusOr<Row> FindRow(SqlSession& session, const std::string& gallery) {
  const SqlParameter parameters[] = {std::string_view(gallery)};
  HEFT_ASSIGN_OR_RETURN(
      const SqlRows rows,
      session.Execute("SELECT model, evaluation_keys, enrolment_keys, trust FROM heft.galleries "
                      "WHERE name = $1",
                      parameters));
  if (rows.size() != 1) return absl::NotFoundError(absl::StrCat("there is no gallery ", gallery));
  return Row{TextOf(rows.at(0, 0)), TextOf(rows.at(0, 1)), TextOf(rows.at(0, 2)),
             TextOf(rows.at(0, 3))};
}

absl::StatusOr<SqlRows> ReadFileOf(SqlSession& session, const std::string& fingerprint) {
  const SqlParameter parameters[] = {AsBytes(fingerprint)};
  HEFT_ASSIGN_OR_RETURN(
      SqlRows rows,
      session.Execute("SELECT bytes FROM heft.files WHERE fingerprint = $1", parameters));
  if (rows.size() == 1 && rows.at(0, 0)) return rows;
  return absl::DataLossError("a file that a gallery needs is not in heft.files");
}

absl::StatusOr<std::shared_ptr<const LoadedServer>> Load(SqlSession& session, const Row& row,
                                                         const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::Parse(row.trust, "the trust file"));
  HEFT_ASSIGN_OR_RETURN(const SqlRows model_file, ReadFileOf(session, row.model));
  HEFT_ASSIGN_OR_RETURN(const Model model, ReadModel(*model_file.at(0, 0), trust));
  HEFT_ASSIGN_OR_RETURN(const SqlRows evaluation_file, ReadFileOf(session, row.evaluation_keys));
  const auto keys_of = [&](const std::string& fingerprint, ByteSpan bytes) {
    return Keys{bytes, Expand(model, folder, HexString(AsBytes(fingerprint)), bytes), {}};
  };
  Keys enrolment;
  SqlRows enrolment_file;
  if (!row.enrolment_keys.empty()) {
    HEFT_ASSIGN_OR_RETURN(enrolment_file, ReadFileOf(session, row.enrolment_keys));
    enrolment = keys_of(row.enrolment_keys, *enrolment_file.at(0, 0));
  }
  return Make(model, std::move(trust), keys_of(row.evaluation_keys, *evaluation_file.at(0, 0)),
              std::move(enrolment));
}

absl::StatusOr<std::string> PutFile(SqlSession& session, ByteSpan bytes) {
  const SqlParameter parameters[] = {bytes};
  HEFT_ASSIGN_OR_RETURN(const SqlRows rows,
                        session.Execute("INSERT INTO heft.files (bytes) VALUES ($1) ON CONFLICT "
                                        "(fingerprint) DO UPDATE SET bytes = heft.files.bytes "
                                        "RETURNING fingerprint",
                                        parameters));
  return TextOf(rows.at(0, 0));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const LoadedServer>> MakeServer(const GalleryFiles& files) {
  HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::Parse(files.trust, "the trust file"));
  HEFT_ASSIGN_OR_RETURN(const Model model, ReadModel(files.model, trust));
  return Make(model, std::move(trust), Keys{files.evaluation_keys, {}, {}},
              Keys{files.enrolment_keys, {}, {}});
}

absl::StatusOr<std::shared_ptr<const LoadedServer>> FindServer(SqlSession& session,
                                                               const std::string& gallery,
                                                               const std::string& folder) {
  static auto* const loaded = new std::map<Row, std::shared_ptr<const LoadedServer>>;
  HEFT_ASSIGN_OR_RETURN(const Row row, FindRow(session, gallery));
  if (const auto found = loaded->find(row); found != loaded->end()) return found->second;
  HEFT_ASSIGN_OR_RETURN(auto server, Load(session, row, folder));
  if (loaded->size() >= kMostServers) loaded->clear();
  return loaded->emplace(row, std::move(server)).first->second;
}

absl::Status RegisterGallery(SqlSession& session, const std::string& gallery,
                             const std::string& tenant, const GalleryFiles& files) {
  HEFT_RETURN_IF_ERROR(session.Begin(SqlSession::Mode::kWrite));
  HEFT_ASSIGN_OR_RETURN(const std::string model, PutFile(session, files.model));
  HEFT_ASSIGN_OR_RETURN(const std::string evaluation, PutFile(session, files.evaluation_keys));
  std::string enrolment;
  if (!files.enrolment_keys.empty()) {
    HEFT_ASSIGN_OR_RETURN(enrolment, PutFile(session, files.enrolment_keys));
  }
  const SqlParameter parameters[] = {
      std::string_view(gallery),
      std::string_view(tenant),
      AsBytes(model),
      AsBytes(evaluation),
      enrolment.empty() ? SqlParameter() : SqlParameter(AsBytes(enrolment)),
      std::string_view(files.trust)};
  HEFT_RETURN_IF_ERROR(
      session
          .Execute("INSERT INTO heft.galleries (name, tenant, model, evaluation_keys, "
                   "enrolment_keys, trust) VALUES ($1, $2::pg_catalog.name, $3, $4, $5, $6)",
                   parameters)
          .status());
  return session.Commit();
}

}  // namespace heft::sql
