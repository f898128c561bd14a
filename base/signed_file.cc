// SPDX-License-Identifier: Apache-2.0
#include "base/signed_file.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/csprng.h"
#include "base/envelope.h"
#include "base/inside.h"
#include "base/kinds.h"
#include "base/signing.h"

namespace heft {
namespace {

constexpr uint32_t kSignedVersion = 1;
// No other signed message begins like this.
constexpr std::string_view kDomain = "HEFT signed file, version 1";

void WriteStatement(ByteWriter& writer, const Statement& s) {
  writer.U8(static_cast<uint8_t>(s.role));
  writer.Raw(AsBytes(s.kind));
  writer.Raw(s.audience);
  writer.Raw(s.subject);
  writer.Raw(s.gallery);
  writer.U64(s.generation);
  writer.Raw(s.nonce);
  writer.Raw(s.request);
  writer.U64(s.issued);
  writer.U64(s.expires);
}

template <size_t size>
void ReadArray(ByteReader& reader, std::array<uint8_t, size>* out) {
  const ByteSpan raw = reader.Raw(size);
  if (reader.ok()) std::ranges::copy(raw, out->begin());
}

Statement ReadStatement(ByteReader& reader) {
  Statement s;
  const uint8_t role = reader.U8();
  if (reader.ok() && (role < 1 || role > 5)) reader.Fail(absl::StrCat("unknown role ", role));
  s.role = static_cast<Role>(role);
  const ByteSpan kind = reader.Raw(4);
  s.kind.assign(kind.begin(), kind.end());
  ReadArray(reader, &s.audience);
  ReadArray(reader, &s.subject);
  ReadArray(reader, &s.gallery);
  s.generation = reader.U64();
  ReadArray(reader, &s.nonce);
  ReadArray(reader, &s.request);
  s.issued = reader.U64();
  s.expires = reader.U64();
  return s;
}

// The signed message.
std::vector<uint8_t> Message(const Statement& statement, const SignerKey& signer,
                             const Hash& file) {
  ByteWriter writer;
  writer.Raw(AsBytes(kDomain));
  WriteStatement(writer, statement);
  writer.Raw(signer);
  writer.Raw(file);
  return writer.Take();
}

std::string TimeText(uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts;
  char text[64];
  if (gmtime_r(&time, &parts) == nullptr ||
      std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
    return absl::StrCat("second ", seconds);
  }
  return text;
}

// ParsedFile: the fields of a signed file, with its signature not yet verified.
struct ParsedFile {
  SignedFile file;
  Signature signature{};
};

ParsedFile ReadHead(ByteReader& reader) {
  ParsedFile out;
  out.file.statement = ReadStatement(reader);
  ReadArray(reader, &out.file.signer);
  ReadArray(reader, &out.signature);
  return out;
}

absl::StatusOr<ParsedFile> Parse(ByteSpan bytes, std::string_view what,
                                 Checksum checksum = Checksum::kCheck) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kSignedKind, kSignedVersion, what, checksum));
  ByteReader reader(payload, what);
  ParsedFile out = ReadHead(reader);
  out.file.file = reader.Raw(reader.remaining());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  const std::string kind = EnvelopeKind(out.file.file);
  if (kind != out.file.statement.kind || kind == kSignedKind) {
    return absl::DataLossError(absl::StrCat(std::string(what), ": signed as a file of kind ",
                                            HexString(AsBytes(out.file.statement.kind)),
                                            " (hexadecimal), but contains another kind"));
  }
  return out;
}

class Check {
 public:
  Check(const SignedFile& file, std::string_view what) : file_(file), what_(what) {}

  absl::Status Refuse(std::string_view why) const {
    return absl::FailedPreconditionError(absl::StrCat(what_, ": ", std::string(why)));
  }
  std::string Signer() const { return HexString(file_.signer); }

  absl::Status Kind(const Expected& expected) const {
    if (expected.kind.empty() || expected.kind == file_.statement.kind) return absl::OkStatus();
    return Refuse(absl::StrCat("a signed file of another kind: ", KindName(file_.statement.kind),
                               ", not ", KindName(expected.kind)));
  }

  absl::Status Role(const Expected& expected) const {
    if (expected.roles.empty() || std::ranges::count(expected.roles, file_.statement.role) > 0) {
      return absl::OkStatus();
    }
    std::vector<std::string> names;
    for (const heft::Role role : expected.roles) names.emplace_back(RoleName(role));
    return Refuse(absl::StrCat("signed by a ", std::string(RoleName(file_.statement.role)),
                               ", but the signature of a ", absl::StrJoin(names, " or "),
                               " is needed"));
  }

  // Sets `name` if the signer is known in its role.
  absl::Status Signer(const Trust& trust, std::string* name) const {
    if (trust.IsRevoked(file_.signer)) {
      return Refuse(absl::StrCat("signed with key ", Signer(), ", which the trust file revokes"));
    }
    const heft::Role role = file_.statement.role;
    std::string others;
    for (uint8_t r = 1; r <= 5; ++r) {
      for (const Trust::Key& key : trust.keys(static_cast<heft::Role>(r))) {
        if (key.key != file_.signer) continue;
        *name = key.name;
        if (static_cast<heft::Role>(r) == role) return absl::OkStatus();
        others = std::string(RoleName(static_cast<heft::Role>(r)));
      }
    }
    const std::string wanted(RoleName(role));
    if (!others.empty()) {
      return Refuse(absl::StrCat("signed by \"", *name, "\", which the trust file lists as ",
                                 others, ", not as ", wanted));
    }
    return Refuse(absl::StrCat("signed by an unknown ", wanted, ", key ", Signer(),
                               ": if you trust this key, heft trust add --role ", wanted));
  }

  absl::Status Audience(const Expected& expected) const {
    const SignerKey& audience = file_.statement.audience;
    if (audience == SignerKey{} || audience == expected.audience) return absl::OkStatus();
    return Refuse(absl::StrCat("made for another reader, key ", HexString(audience)));
  }

  absl::Status Time(const Expected& expected) const {
    const Statement& s = file_.statement;
    const uint64_t now = expected.now == 0 ? UnixTime() : expected.now;
    if (s.issued > now && s.issued - now > kClockSkew) {
      return Refuse(absl::StrCat("signed in the future, at ", TimeText(s.issued),
                                 ": not valid yet, or a clock is wrong"));
    }
    if (s.expires == 0 || now <= s.expires) return absl::OkStatus();
    return Refuse(absl::StrCat("expired at ", TimeText(s.expires), ": ask again"));
  }

  absl::Status Gallery(const Trust& trust, const Expected& expected) const {
    const Statement& s = file_.statement;
    uint64_t oldest = expected.min_generation;
    bool known = expected.gallery == GalleryId{} || expected.gallery == s.gallery;
    if (s.role == heft::Role::kServer && !trust.galleries().empty()) {
      const auto pin = std::ranges::find(trust.galleries(), s.gallery, &Trust::PinnedGallery::id);
      known = known && pin != trust.galleries().end();
      if (known) oldest = std::max(oldest, pin->generation);
    }
    if (!known) {
      return Refuse(absl::StrCat("of another gallery, ", HexString(s.gallery)));
    }
    if (s.generation >= oldest) return absl::OkStatus();
    return Refuse(absl::StrCat("of generation ", s.generation, " of gallery ", HexString(s.gallery),
                               ", older than ", oldest));
  }

 private:
  const SignedFile& file_;
  const std::string what_;
};

}  // namespace

uint64_t UnixTime() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

bool IsSigned(std::span<const uint8_t> bytes) { return EnvelopeKind(bytes) == kSignedKind; }

absl::StatusOr<ByteSpan> Unsigned(ByteSpan bytes, std::string_view what) {
  if (!IsSigned(bytes)) return bytes;
  HEFT_ASSIGN_OR_RETURN(const ParsedFile parsed, Parse(bytes, what));
  return parsed.file.file;
}

absl::StatusOr<SignedHead> HeadOf(ByteSpan bytes, std::string_view what) {
  SignedHead head;
  if (IsSigned(bytes)) {
    HEFT_ASSIGN_OR_RETURN(const ParsedFile parsed, Parse(bytes, what));
    const ByteSpan before = bytes.subspan(kEnvelopeHeaderSize, kSignedHeadSize);
    head.bytes.assign(before.begin(), before.end());
    bytes = parsed.file.file;
  }
  head.file = HashBytes(bytes);
  return head;
}

Digest FilesDigest(std::span<const std::span<const uint8_t>> files) {
  std::vector<Hash> hashes;
  for (const ByteSpan file : files) hashes.push_back(HashBytes(file));
  std::ranges::sort(hashes);
  ByteWriter writer;
  for (const Hash& hash : hashes) writer.Raw(hash);
  return HashBytes(writer.bytes());
}

Digest RequestDigest(const Digest& files, uint64_t row) {
  ByteWriter writer;
  writer.Raw(AsBytes("HEFT request, version 1"));
  writer.U64(row);
  writer.Raw(files);
  return HashBytes(writer.bytes());
}

namespace {

absl::Status CheckSignable(std::string_view kind) {
  if (!kind.empty() && kind != kSignedKind) return absl::OkStatus();
  return absl::InvalidArgumentError(kind.empty() ? "not one of HEFT's files"
                                                 : "the file is signed already");
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> SignWritten(const SigningKey& key, Statement statement,
                                                 size_t size,
                                                 const std::function<Hash(ByteWriter&)>& write) {
  ByteWriter writer;
  writer.Reserve(size + kSignedHeadSize + kEnvelopeOverhead);
  const size_t start = BeginEnvelope(kSignedKind, kSignedVersion, &writer);
  const size_t head = writer.bytes().size();
  writer.Raw(std::array<uint8_t, kSignedHeadSize>{});
  const Hash file = write(writer);
  statement.kind = EnvelopeKind(ByteSpan(writer.bytes()).subspan(head + kSignedHeadSize));
  HEFT_RETURN_IF_ERROR(CheckSignable(statement.kind));
  if (statement.nonce == decltype(statement.nonce){}) Csprng().Fill(statement.nonce);
  if (statement.issued == 0) statement.issued = UnixTime();
  HEFT_ASSIGN_OR_RETURN(const Signature signature,
                        Inside::Of(key).Sign(Message(statement, key.public_key(), file)));
  ByteWriter filled;
  WriteStatement(filled, statement);
  filled.Raw(key.public_key());
  filled.Raw(signature);
  writer.Patch(head, filled.bytes());
  EndEnvelope(start, &writer);
  return writer.Take();
}

absl::StatusOr<std::vector<uint8_t>> SigningKey::Sign(Statement statement,
                                                      std::span<const uint8_t> file) const {
  HEFT_RETURN_IF_ERROR(CheckSignable(EnvelopeKind(file)));
  return SignWritten(*this, std::move(statement), file.size(), [&](ByteWriter& writer) {
    writer.Raw(file);
    return HashBytes(file);
  });
}

namespace {

absl::Status NotSigned(std::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what), ": not signed, so its origin cannot be checked"));
}

absl::Status CheckSignature(const ParsedFile& parsed, const Hash& file, std::string_view what) {
  const SignerKey& signer = parsed.file.signer;
  if (SignatureIsGood(signer, Message(parsed.file.statement, signer, file), parsed.signature)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      std::string(what), ": its signature is false: the file is damaged or was changed"));
}

// Sets the signer's name.
absl::Status CheckExpected(const Trust& trust, const Expected& expected, std::string_view what,
                           SignedFile* file) {
  const Check check(*file, what);
  HEFT_RETURN_IF_ERROR(check.Kind(expected));
  HEFT_RETURN_IF_ERROR(check.Role(expected));
  std::string name;
  HEFT_RETURN_IF_ERROR(check.Signer(trust, &name));
  HEFT_RETURN_IF_ERROR(check.Audience(expected));
  HEFT_RETURN_IF_ERROR(check.Time(expected));
  HEFT_RETURN_IF_ERROR(check.Gallery(trust, expected));
  file->signer_name = std::move(name);
  return absl::OkStatus();
}

absl::Status CheckKind(std::string_view kind, const Expected& expected, std::string_view what) {
  if (expected.kind.empty() || kind.empty() || kind == kSignedKind || kind == expected.kind) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(std::string(what),
                                                    ": a file of another kind: ", KindName(kind),
                                                    ", not ", KindName(expected.kind), ", signed"));
}

}  // namespace

absl::StatusOr<SignedFile> ReadSigned(std::span<const uint8_t> bytes, std::string_view what) {
  if (!IsSigned(bytes) && !EnvelopeKind(bytes).empty()) return NotSigned(what);
  HEFT_ASSIGN_OR_RETURN(ParsedFile parsed, Parse(bytes, what));
  HEFT_RETURN_IF_ERROR(CheckSignature(parsed, HashBytes(parsed.file.file), what));
  return std::move(parsed.file);
}

absl::StatusOr<Claimed> ReadClaimed(ByteSpan bytes, std::string_view what) {
  if (!IsSigned(bytes) && !EnvelopeKind(bytes).empty()) return NotSigned(what);
  HEFT_ASSIGN_OR_RETURN(const ParsedFile parsed, Parse(bytes, what, Checksum::kKnown));
  return Claimed{parsed.file.statement,
                 HashBytes(bytes.subspan(kEnvelopeHeaderSize, kSignedHeadSize))};
}

std::vector<uint8_t> WithHead(ByteSpan head, ByteSpan file) {
  ByteWriter writer;
  writer.Reserve(head.size() + file.size() + kEnvelopeOverhead);
  const size_t start = BeginEnvelope(kSignedKind, kSignedVersion, &writer);
  writer.Raw(head);
  writer.Raw(file);
  EndEnvelope(start, &writer);
  return writer.Take();
}

absl::StatusOr<SignedFile> OpenSignedHead(const SignedHead& head, std::string_view kind,
                                          const Trust& trust, const Expected& expected,
                                          std::string_view what) {
  if (head.bytes.empty()) {
    HEFT_RETURN_IF_ERROR(CheckKind(kind, expected, what));
    return NotSigned(what);
  }
  ByteReader reader(head.bytes, what);
  ParsedFile parsed = ReadHead(reader);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  if (parsed.file.statement.kind != kind) {
    return absl::DataLossError(absl::StrCat(std::string(what), ": signed as another kind of file"));
  }
  HEFT_RETURN_IF_ERROR(CheckSignature(parsed, head.file, what));
  HEFT_RETURN_IF_ERROR(CheckExpected(trust, expected, what, &parsed.file));
  return std::move(parsed.file);
}

absl::StatusOr<SignedFile> OpenSigned(std::span<const uint8_t> bytes, const Trust& trust,
                                      const Expected& expected, std::string_view what) {
  HEFT_RETURN_IF_ERROR(CheckKind(EnvelopeKind(bytes), expected, what));
  HEFT_ASSIGN_OR_RETURN(SignedFile file, ReadSigned(bytes, what));
  HEFT_RETURN_IF_ERROR(CheckExpected(trust, expected, what, &file));
  return file;
}

absl::StatusOr<SignedFile> OpenBySignature(ByteSpan bytes, const Trust& trust,
                                           const Expected& expected, std::string_view what,
                                           Hash* hash) {
  absl::StatusOr<ParsedFile> parsed = Parse(bytes, what, Checksum::kKnown);
  const Hash inner = parsed.ok() ? HashBytes(parsed->file.file) : Hash{};
  if (!parsed.ok() || !CheckSignature(*parsed, inner, what).ok()) {
    // The checksum distinguishes damage from forgery.
    HEFT_ASSIGN_OR_RETURN(SignedFile file, OpenSigned(bytes, trust, expected, what));
    if (hash != nullptr) *hash = HashBytes(file.file);
    return file;
  }
  if (hash != nullptr) *hash = inner;
  HEFT_RETURN_IF_ERROR(CheckExpected(trust, expected, what, &parsed->file));
  return std::move(parsed->file);
}

}  // namespace heft
