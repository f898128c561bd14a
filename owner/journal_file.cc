// SPDX-License-Identifier: Apache-2.0
#include "owner/journal_file.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/files.h"

namespace heft {
namespace {

constexpr uint32_t kJournalVersion = 5;
constexpr uint64_t kMaxBytes = uint64_t{1} << 33;

// Prefix: what every file of ours begins with (base/envelope.h), without the size, which grows.
std::vector<uint8_t> Prefix() {
  std::vector<uint8_t> bytes = SealEnvelope(kJournalKind, kJournalVersion, {});
  bytes.resize(16);
  return bytes;
}

bool SameMac(const Hash& a, const Hash& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

absl::Status Failed(std::string_view action, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", std::string(action), " ", path, ": ", std::strerror(errno)));
}

// Closed: a descriptor, until the end of the block.
struct Closed {
  int fd;
  ~Closed() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

std::vector<uint8_t> JournalFileHead::Serialize(const JournalKeys& keys) const {
  ByteWriter writer;
  writer.Raw(Prefix());
  writer.Raw(fingerprint);
  writer.Raw(key_id);
  writer.Raw(sealed_tag_key);
  writer.U64(before.sequence);
  writer.Raw(before.mac);
  writer.Raw(keys.Mac({writer.bytes()}));
  return writer.Take();
}

absl::StatusOr<JournalFileHead> JournalFileHead::Parse(ByteSpan bytes, const JournalKeys* keys,
                                                       std::string_view what) {
  const std::string name(what);
  const std::vector<uint8_t> prefix = Prefix();
  if (bytes.size() < kSize || !std::equal(prefix.begin(), prefix.end(), bytes.begin())) {
    return absl::DataLossError(
        absl::StrCat(name, ": not a journal of version ", kJournalVersion, ", or cut short"));
  }
  ByteReader reader(bytes.subspan(prefix.size(), kSize - prefix.size()), what);
  const auto take = [&](auto& out) {
    const ByteSpan raw = reader.Raw(out.size());
    std::copy(raw.begin(), raw.end(), out.begin());
  };
  JournalFileHead head;
  head.sealed_tag_key.resize(JournalKeys::kSealedSize);
  Hash mac;
  take(head.fingerprint);
  take(head.key_id);
  take(head.sealed_tag_key);
  head.before.sequence = reader.U64();
  take(head.before.mac);
  take(mac);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  if (keys == nullptr) return head;
  if (head.fingerprint != keys->fingerprint()) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": the journal of another key, ", HexString(head.key_id)));
  }
  if (!SameMac(mac, keys->Mac({bytes.first(kSize - sizeof(Hash))}))) {
    return absl::DataLossError(absl::StrCat(name, ": changed by somebody who has not the key"));
  }
  return head;
}

std::vector<uint8_t> SealEntry(const Entry& entry, const JournalKeys& keys, Link* link) {
  const std::vector<uint8_t> body = entry.Serialize();
  ByteWriter writer;
  writer.Reserve(8 + body.size() + sizeof(Hash));
  writer.U64(body.size());
  writer.Raw(body);
  link->mac = keys.Mac({link->mac, writer.bytes()});
  link->sequence = entry.sequence;
  writer.Raw(link->mac);
  return writer.Take();
}

absl::StatusOr<size_t> ReadEntries(
    ByteSpan bytes, const JournalKeys* keys, std::string_view what, Link* link,
    const std::function<absl::Status(const Entry&, const Link&)>& take) {
  size_t done = 0;
  while (bytes.size() - done >= 8 + sizeof(Hash)) {
    const ByteSpan rest = bytes.subspan(done);
    const uint64_t size = ByteReader(rest.first(8), what).U64();
    if (size > rest.size() - 8 - sizeof(Hash)) break;
    Hash mac;
    std::copy_n(rest.begin() + 8 + size, mac.size(), mac.begin());
    if (keys != nullptr && !SameMac(mac, keys->Mac({link->mac, rest.first(8 + size)}))) break;
    const auto entry = Entry::Parse(rest.subspan(8, size), what);
    if (!entry.ok()) {
      if (keys == nullptr) break;
      return entry.status();  // the key's holder wrote it: a later version, or a bug
    }
    if (entry->sequence != link->sequence + 1) break;
    *link = {entry->sequence, mac};
    HEFT_RETURN_IF_ERROR(take(*entry, *link));
    done += 8 + size + sizeof(Hash);
  }
  return done;
}

std::optional<Stamp> StampOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return Stamp{info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size)};
}

absl::StatusOr<std::vector<uint8_t>> ReadFrom(const std::string& path, uint64_t offset) {
  if (offset == 0) return ReadFile(path, kMaxBytes);
  const Closed file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info;
  if (file.fd < 0 || fstat(file.fd, &info) != 0) return Failed("read", path);
  std::vector<uint8_t> bytes(info.st_size - std::min<uint64_t>(offset, info.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = pread(file.fd, bytes.data() + done, bytes.size() - done, offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("read", path);
    if (n == 0) break;
    done += n;
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace heft
