// SPDX-License-Identifier: Apache-2.0
// The server's signature: requests taken once, and statements of replies.
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/progress.h"
#include "base/signed_file.h"
#include "fusion/samples.h"
#include "gallery/gallery_impl.h"
#include "gallery/request_log.h"
#include "gallery/scores.h"
#include "heft/server.h"
#include "heft/trust.h"
#include "matcher/folder_key.h"
#include "matcher/server_impl.h"

namespace heft {
namespace {

// kOutside: the name in server.pub of a key that is kept outside the folder.
constexpr char kOutside[] = "outside";

// OutsideSigners: those of this process, by the folder of their stores.
struct OutsideSigners {
  std::mutex mutex;
  std::map<std::string, std::pair<SignerKey, OutsideSigner>> by_folder;
  static OutsideSigners& All() {
    static auto* const all = new OutsideSigners;
    return *all;
  }
};

// Show: writes the public half, for its verifiers.
absl::Status Show(const std::string& folder, const SignerKey& key) {
  const std::string text = absl::StrCat(HexString(key), " ", kOutside, "\n");
  const auto known = ReadTextFile(folder + "/server.pub", 4096);
  if (known.ok() && *known == text) return absl::OkStatus();
  return WriteFileAtomic(folder + "/server.pub", text);
}

// CheckInside: fails if the server signs with a key outside the folder (server.pub says so).
absl::Status CheckInside(const std::string& folder) {
  const auto known = ReadTextFile(folder + "/server.pub", 4096);
  if (!known.ok() || known->find(absl::StrCat(" ", kOutside, "\n")) == known->npos) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      folder,
      ": its server signs with a key outside the folder (server.pub): use that server for "
      "this. For a new key, remove server.pub and, if it exists, server.key"));
}

absl::Status ShowInside(const std::string& folder, const SigningKey& key) {
  return WriteFileAtomic(folder + "/server.pub",
                         absl::StrCat(HexString(key.public_key()), " server\n"));
}

absl::Status MakeSigner(const std::string& folder, const std::string& path) {
  // Two servers that start at once must share one key. This is not the store's lock, because a
  // writer of the gallery may need the key.
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Take(folder + "/server.lock", 0644));
  if (FileExists(path)) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(CheckInside(folder));
  HEFT_RETURN_IF_ERROR(CheckKeyNew(folder, kServerKey));
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, SigningKey::Generate());
  // The secret half first: a public half alone is a lost key.
  HEFT_RETURN_IF_ERROR(key.Save(path));
  return ShowInside(folder, key);
}

// A request that is remembered must have an end.
absl::Status CheckLife(const Statement& statement, const std::string& name) {
  const uint64_t last = UnixTime() + kClockSkew + kLongestRequest;
  if (statement.expires != 0 && statement.expires <= last) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      name, ": good for longer than a server remembers requests, which is ", kLongestRequest,
      " seconds: sign it again with an end (heft encrypt --valid-for)"));
}

// CheckThere: if the gallery's database is not reachable, the gallery is not reported as missing.
absl::Status CheckThere(const std::string& gallery) {
  const absl::Status opened = Gallery::Impl::Open(gallery).status();
  if (!absl::IsNotFound(opened)) return opened;
  return absl::NotFoundError(absl::StrCat("no gallery in ", gallery));
}

}  // namespace

void UseGallerySigner(const std::string& folder, const SignerKey& public_key, OutsideSigner sign) {
  OutsideSigners& all = OutsideSigners::All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.by_folder[FolderOf(folder)] = {public_key, std::move(sign)};
}

absl::StatusOr<SigningKey> GallerySigner(const std::string& gallery) {
  const std::string folder = FolderOf(gallery), path = folder + "/server.key";
  {
    OutsideSigners& all = OutsideSigners::All();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (const auto found = all.by_folder.find(folder); found != all.by_folder.end()) {
      HEFT_RETURN_IF_ERROR(CheckThere(gallery));
      if (FileExists(path)) {
        return absl::FailedPreconditionError(absl::StrCat(
            path,
            ": this file still exists, although the server signs with a key outside the folder, so "
            "any reader of the file can sign trusted replies. Revoke its server.pub in all trust "
            "files (heft trust revoke), then remove the file"));
      }
      HEFT_RETURN_IF_ERROR(Show(folder, found->second.first));
      return OutsideSigningKey(found->second.first, found->second.second);
    }
  }
  HEFT_RETURN_IF_ERROR(CheckInside(folder));
  HEFT_RETURN_IF_ERROR(CheckKeyNew(folder, kServerKey));
  if (!FileExists(path)) {
    HEFT_RETURN_IF_ERROR(CheckThere(gallery));
    HEFT_RETURN_IF_ERROR(MakeSigner(folder, path));
  }
  auto key = SigningKey::Load(path);
  if (absl::IsDataLoss(key.status())) return LostKey(path, "is damaged");
  HEFT_RETURN_IF_ERROR(key.status());
  // It is missing if the process that made the key was killed. A folder may also be read-only.
  if (!FileExists(folder + "/server.pub")) ShowInside(folder, *key).IgnoreError();
  RecordKey(folder, kServerKey);
  return key;
}

absl::StatusOr<Request> ReadRequest(std::span<const SampleFile> files, const Trust* trust,
                                    const SignerKey& server) {
  const bool demanded =
      trust != nullptr && (trust->Lists(Role::kClient) || trust->Lists(Role::kRegistrar));
  Request request;
  std::vector<ByteSpan> bytes;
  for (const SampleFile& file : files) {
    bytes.push_back(file.bytes);
    if (!demanded && !IsSigned(file.bytes)) continue;
    const auto opened =
        trust == nullptr ? ReadSigned(file.bytes, file.name)
                         : OpenSigned(file.bytes, *trust,
                                      {.roles = {Role::kClient, Role::kRegistrar, Role::kKeyOwner},
                                       .audience = server},
                                      file.name);
    HEFT_RETURN_IF_ERROR(opened.status());
    // A file of another kind is no request, even if it expires.
    HEFT_RETURN_IF_ERROR(CheckSampleKind(opened->file, file.name));
    if (request.client != SignerKey{} && request.client != opened->signer) {
      return absl::FailedPreconditionError(absl::StrCat(
          file.name,
          ": signed by another than the first file: all files of a request need one signer"));
    }
    if (request.client == SignerKey{}) request.nonce = opened->statement.nonce;
    // Without trust, a signer's name is only its own claim, and anyone could sign again.
    if (trust == nullptr) continue;
    request.client = opened->signer;
    HEFT_RETURN_IF_ERROR(CheckLife(opened->statement, file.name));
    request.parts.push_back(
        {file.name, opened->signer, opened->statement.nonce, opened->statement.expires});
  }
  request.files = FilesDigest(bytes);
  return request;
}

absl::Status RememberRequest(const std::string& gallery, const Request& request, uint64_t row) {
  if (request.parts.empty()) return absl::OkStatus();
  std::vector<TakenRow> rows;
  for (const Request::Part& part : request.parts) {
    rows.push_back({RequestIdOf(part.signer, part.nonce), row, part.expires});
  }
  HEFT_ASSIGN_OR_RETURN(const std::optional<size_t> known,
                        RequestLog(FolderOf(gallery)).Take(rows, UnixTime()));
  if (!known) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(request.parts[*known].name,
                   ": this request was taken before, and each is answered once: to ask again, "
                   "or after a failure, sign a new one (heft encrypt --sign)"));
}

namespace {

absl::StatusOr<Statement> StatementOf(const Gallery& gallery, const ReplySigner& signer) {
  HEFT_RETURN_IF_ERROR(Inside::Of(gallery).CheckNotSetBack());
  Statement statement;
  statement.role = Role::kServer;
  statement.audience = signer.audience;
  statement.subject = signer.request->client;
  statement.gallery = gallery.id();
  statement.generation = gallery.generation();
  statement.nonce = signer.request->nonce;
  statement.request = RequestDigest(signer.request->files, signer.row);
  statement.issued = UnixTime();
  statement.expires = signer.life == 0 ? 0 : statement.issued + signer.life;
  return statement;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> SignReply(const SigningKey& key, const Gallery& gallery,
                                               const Request& request, uint64_t row,
                                               const SignerKey& audience,
                                               std::span<const uint8_t> reply, uint64_t life) {
  HEFT_ASSIGN_OR_RETURN(Statement statement,
                        StatementOf(gallery, {&key, &request, row, audience, life}));
  return key.Sign(std::move(statement), reply);
}

absl::Status Server::IdentifySigned(
    size_t galleries, const std::function<absl::StatusOr<Gallery>(size_t)>& open,
    std::vector<SampleFile> files, const ProbeOptions& options, const ReplySigner& signer,
    const std::function<absl::Status(const Gallery&, std::vector<uint8_t> reply)>& use,
    const Monitor& monitor) const {
  if (signer.key == nullptr || signer.request == nullptr) {
    return absl::InvalidArgumentError("signed replies are needed: give a key and the request");
  }
  HEFT_RETURN_IF_ERROR(CheckConditions(options.where));
  HEFT_ASSIGN_OR_RETURN(const SampleSet samples, impl_->Read(std::move(files)));
  const Progress progress(monitor, "matching blocks");
  Impl::Fused fused;
  for (size_t i = 0; i < galleries; ++i) {
    HEFT_ASSIGN_OR_RETURN(const Gallery gallery, open(i));
    HEFT_ASSIGN_OR_RETURN(
        const EncryptedScores scores,
        impl_->IdentifyNext(Inside::Of(gallery), samples, options, &fused, progress.Callback()));
    // After it: a reply is no older than the time by which its templates have expired.
    HEFT_ASSIGN_OR_RETURN(Statement statement, StatementOf(gallery, signer));
    HEFT_ASSIGN_OR_RETURN(
        std::vector<uint8_t> reply,
        SignWritten(*signer.key, std::move(statement), 0, [&](ByteWriter& writer) {
          return WriteScores(writer, *impl_->instance().context, scores);
        }));
    HEFT_RETURN_IF_ERROR(use(gallery, std::move(reply)));
  }
  return absl::OkStatus();
}

}  // namespace heft
