// SPDX-License-Identifier: Apache-2.0
// The server's signature: who asked, for the first time, and what a reply says of itself.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "fusion/samples.h"
#include "gallery/gallery_impl.h"
#include "gallery/request_log.h"
#include "heft/server.h"

namespace heft {
namespace {

absl::Status MakeSigner(const std::string& folder, const std::string& path) {
  // Two servers that start at once must not each have a key. Not the store's lock: who changes the
  // gallery may need the key.
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Take(folder + "/server.lock", 0644));
  if (FileExists(path)) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, SigningKey::Generate());
  // The public half first: a key that is there has its other file.
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/server.pub",
                                       absl::StrCat(HexString(key.public_key()), " server\n")));
  return key.Save(path);
}

// Who remembers a request has to know until when.
absl::Status CheckLife(const Statement& statement, const std::string& name) {
  const uint64_t last = UnixTime() + kClockSkew + kLongestRequest;
  if (statement.expires != 0 && statement.expires <= last) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      name, ": good for longer than a server remembers requests, which is ", kLongestRequest,
      " seconds: sign it anew with an end (heft encrypt --valid-for)"));
}

}  // namespace

absl::StatusOr<SigningKey> GallerySigner(const std::string& gallery) {
  const std::string folder = FolderOf(gallery), path = folder + "/server.key";
  if (!FileExists(path)) {
    if (!Gallery::Impl::Exists(gallery)) {
      return absl::NotFoundError(absl::StrCat("no gallery in ", gallery));
    }
    HEFT_RETURN_IF_ERROR(MakeSigner(folder, path));
  }
  return SigningKey::Load(path);
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
    // A file of another kind is no request, whatever its life.
    HEFT_RETURN_IF_ERROR(CheckSampleKind(opened->file, file.name));
    if (request.client != SignerKey{} && request.client != opened->signer) {
      return absl::FailedPreconditionError(absl::StrCat(
          file.name, ": signed by another than the first file: a request is one client's"));
    }
    if (request.client == SignerKey{}) request.nonce = opened->statement.nonce;
    // Without trust the name of a signer is its own word, and anybody could sign anew.
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
                   ": this request was taken before, and each is answered once: to ask again, or "
                   "after a failure, sign a new one (heft encrypt --sign)"));
}

absl::StatusOr<std::vector<uint8_t>> SignReply(const SigningKey& key, const Gallery& gallery,
                                               const Request& request, uint64_t row,
                                               const SignerKey& audience,
                                               std::span<const uint8_t> reply, uint64_t life) {
  Statement statement;
  statement.role = Role::kServer;
  statement.audience = audience;
  statement.subject = request.client;
  statement.gallery = gallery.id();
  statement.generation = gallery.generation();
  statement.nonce = request.nonce;
  statement.request = RequestDigest(request.files, row);
  statement.issued = UnixTime();
  statement.expires = life == 0 ? 0 : statement.issued + life;
  return key.Sign(std::move(statement), reply);
}

}  // namespace heft
