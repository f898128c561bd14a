// SPDX-License-Identifier: Apache-2.0
#include "sql/servers.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/status.h"
#include "heft/server.h"

namespace heft::sql {
namespace {

// kMaxServers: of one backend: each has some 9 MB of keys, and 66 more to enrol.
constexpr size_t kMaxServers = 4;
// In errors.
constexpr std::string_view kEvaluationKeys = "evaluation keys", kEnrolmentKeys = "enrolment keys";

absl::StatusOr<std::shared_ptr<const TrustedServer>> Make(const Model& model, Trust trust,
                                                          const KeyFile& evaluation,
                                                          const KeyFile& enrolment) {
  HEFT_ASSIGN_OR_RETURN(const CheckedKeys keys, CheckKeys(&trust, evaluation, enrolment));
  HEFT_ASSIGN_OR_RETURN(TrustedServer server, TrustedServer::Create(model, std::move(trust), keys));
  return std::make_shared<const TrustedServer>(std::move(server));
}

// Expand: the keys of this name, in a file that backends share; without it they are parsed. It
// never fails the call: an existing file is used only if this user wrote it.
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
  return absl::DataLossError("a file that a gallery needs is missing in heft.files");
}

absl::StatusOr<std::shared_ptr<const TrustedServer>> Load(SqlSession& session, const Row& row,
                                                          const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::Parse(row.trust, "the trust file"));
  HEFT_ASSIGN_OR_RETURN(const SqlRows model_file, ReadFileOf(session, row.model));
  HEFT_ASSIGN_OR_RETURN(const Model model,
                        ReadTrustedModel(&trust, *model_file.at(0, 0), "the model"));
  SqlRows files[2];
  std::optional<ExpandedKeys> expanded[2];
  KeyFile keys[2] = {{.what = kEvaluationKeys}, {.what = kEnrolmentKeys}};
  const std::string* const fingerprints[] = {&row.evaluation_keys, &row.enrolment_keys};
  for (size_t i = 0; i < 2; ++i) {
    if (fingerprints[i]->empty()) continue;
    HEFT_ASSIGN_OR_RETURN(files[i], ReadFileOf(session, *fingerprints[i]));
    keys[i].bytes = *files[i].at(0, 0);
    expanded[i] = Expand(model, folder, HexString(AsBytes(*fingerprints[i])), keys[i].bytes);
    if (expanded[i]) keys[i].expanded = &*expanded[i];
  }
  return Make(model, std::move(trust), keys[0], keys[1]);
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

absl::StatusOr<std::shared_ptr<const TrustedServer>> MakeServer(const GalleryFiles& files) {
  HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::Parse(files.trust, "the trust file"));
  HEFT_ASSIGN_OR_RETURN(const Model model, ReadTrustedModel(&trust, files.model, "the model"));
  return Make(model, std::move(trust), {files.evaluation_keys, kEvaluationKeys},
              {files.enrolment_keys, kEnrolmentKeys});
}

absl::StatusOr<std::shared_ptr<const TrustedServer>> FindServer(SqlSession& session,
                                                                const std::string& gallery,
                                                                const std::string& folder) {
  static auto* const loaded = new std::map<Row, std::shared_ptr<const TrustedServer>>;
  HEFT_ASSIGN_OR_RETURN(const Row row, FindRow(session, gallery));
  if (const auto found = loaded->find(row); found != loaded->end()) return found->second;
  HEFT_ASSIGN_OR_RETURN(auto server, OfStore(Load(session, row, folder)));
  if (loaded->size() >= kMaxServers) loaded->clear();
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
