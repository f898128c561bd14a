// SPDX-License-Identifier: Apache-2.0
// Who made a file, for whom and for how long: Ed25519 signatures over HEFT's files, and the small
// file of public keys that says whom to believe. Link heft::server: a signing key decrypts nothing.
//
//   auto key = heft::SigningKey::Load("gallery/server.key");
//   auto signed_reply = key->Sign({.role = heft::Role::kServer, .expires = in_an_hour}, reply);
//   auto trust = heft::Trust::Load("keys/trust.heft");
//   auto file = heft::OpenSigned(bytes, *trust, {.roles = {heft::Role::kServer}}, "reply");
//
// Functions that take a file's bytes take signed ones too, and do not look at the signature: what
// is to be checked is checked by OpenSigned, KeyOwner::RequireSigned, or the tools.
#ifndef HEFT_TRUST_H_
#define HEFT_TRUST_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"

namespace heft {

// PassphraseSource is asked once, where a passphrase is needed; what it returns is wiped after use.
using PassphraseSource = std::function<absl::StatusOr<std::string>()>;

// SignerKey: an Ed25519 public key. Zeros stand for nobody, or everybody.
using SignerKey = std::array<uint8_t, 32>;
// GalleryId: 16 random bytes, drawn when a gallery is started. Zeros: none.
using GalleryId = std::array<uint8_t, 16>;
// Digest: BLAKE2b-256.
using Digest = std::array<uint8_t, 32>;

// Role: what a signer signs as.
enum class Role : uint8_t {
  kKeyOwner = 1,   // keys
  kServer = 2,     // replies
  kClient = 3,     // requests: samples and probes
  kRegistrar = 4,  // who is enrolled
  kTrainer = 5,    // models
};
// "key-owner", "server", "client", "registrar", "trainer"; ParseRole: kInvalidArgument names them.
HEFT_EXPORT std::string_view RoleName(Role role);
HEFT_EXPORT absl::StatusOr<Role> ParseRole(std::string_view name);

// ParseSignerKey reads 64 hexadecimal digits, as in NAME.pub; what follows them after white space
// is not looked at. kInvalidArgument.
HEFT_EXPORT absl::StatusOr<SignerKey> ParseSignerKey(std::string_view text);
// ParseGalleryId reads 32 hexadecimal digits. kInvalidArgument.
HEFT_EXPORT absl::StatusOr<GalleryId> ParseGalleryId(std::string_view text);

// UnixTime: seconds since 1970.
HEFT_EXPORT uint64_t UnixTime();

// Statement: what a signature says of the file that it is on.
struct Statement {
  Role role = Role::kKeyOwner;      // that the signer acts in
  std::string kind;                 // of the file, four letters (docs/formats.md); Sign sets it
  SignerKey audience{};             // for whom; zeros: for anybody
  SignerKey subject{};              // of whom: a reply's is the client that asked; zeros: unknown
  GalleryId gallery{};              // zeros: of none
  uint64_t generation = 0;          // of that gallery
  std::array<uint8_t, 16> nonce{};  // Sign draws it where it is zeros
  Digest request{};                 // a reply's: RequestDigest of what it answers
  uint64_t issued = 0;              // UnixTime; Sign sets it where it is 0
  uint64_t expires = 0;             // the last second of its life; 0: it has no end
};

// RequestDigest binds a reply to what was asked: the files as they were sent, in any order
// (FilesDigest), and the row of them that was the probe.
HEFT_EXPORT Digest FilesDigest(std::span<const std::span<const uint8_t>> files);
HEFT_EXPORT Digest RequestDigest(const Digest& files, uint64_t row);

// SigningKey: an Ed25519 key pair, the secret half in locked memory where the system grants it.
// Const calls may come from any number of threads.
class HEFT_EXPORT SigningKey {
 public:
  class HEFT_HIDDEN Impl;

  static absl::StatusOr<SigningKey> Generate();
  // A file that Save wrote. kFailedPrecondition for one that others may read, or a sealed one
  // without a `passphrase` to ask; kInvalidArgument for a wrong passphrase; kDataLoss; kNotFound.
  static absl::StatusOr<SigningKey> Load(const std::string& path,
                                         const PassphraseSource& passphrase = {});
  // Writes it with mode 0600, sealed where `passphrase` gives one. kAlreadyExists.
  absl::Status Save(const std::string& path, const PassphraseSource& passphrase = {}) const;

  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  ~SigningKey();

  const SignerKey& public_key() const;
  // The signed file: the statement, the signature and `file`, which is one of HEFT's and not signed
  // itself; otherwise kInvalidArgument.
  absl::StatusOr<std::vector<uint8_t>> Sign(Statement statement,
                                            std::span<const uint8_t> file) const;

 private:
  friend struct Inside;
  explicit SigningKey(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Trust: whose signatures to believe, by role; keys that are revoked; and, if any are pinned,
// galleries whose replies alone are taken. A text file (docs/formats.md) that its reader must have
// from whom it trusts: all checks rest on it.
class HEFT_EXPORT Trust {
 public:
  struct Key {
    std::string name;
    SignerKey key{};
    bool operator==(const Key&) const = default;
  };
  struct PinnedGallery {
    GalleryId id{};
    uint64_t generation = 0;  // replies of older ones are refused
    bool operator==(const PinnedGallery&) const = default;
  };

  // kDataLoss for what is no trust file, and `what` names it; Load: also kNotFound, kUnavailable.
  static absl::StatusOr<Trust> Parse(std::string_view text, std::string_view what);
  static absl::StatusOr<Trust> Load(const std::string& path);
  // LoadGuarded: of a file by which something is to be decided. Also kFailedPrecondition where
  // anybody may write it.
  static absl::StatusOr<Trust> LoadGuarded(const std::string& path);
  std::string Serialize() const;
  // Replaces the file.
  absl::Status Save(const std::string& path) const;

  const std::vector<Key>& keys(Role role) const;
  const std::vector<Key>& revoked() const { return revoked_; }
  const std::vector<PinnedGallery>& galleries() const { return galleries_; }
  bool Lists(Role role) const { return !keys(role).empty(); }
  bool IsRevoked(const SignerKey& key) const;

  // kAlreadyExists for a key or name that the role has, kFailedPrecondition for a revoked key,
  // kInvalidArgument for a name that cannot be an identity's, and for zeros.
  absl::Status Add(Role role, const std::string& name, const SignerKey& key);
  // From here on refused in every role. kNotFound for a key in none.
  absl::Status Revoke(const SignerKey& key);
  // Replies of pinned galleries alone are taken, from `generation` on; again: from another one on.
  void Pin(const GalleryId& gallery, uint64_t generation = 0);

 private:
  std::array<std::vector<Key>, 5> keys_;  // by role
  std::vector<Key> revoked_;
  std::vector<PinnedGallery> galleries_;
};

// Expected: what a reader demands.
struct Expected {
  std::vector<Role> roles;      // of these one; empty: of any
  std::string kind;             // empty: any
  SignerKey audience{};         // the reader; zeros: takes what is for anybody, and nothing else
  GalleryId gallery{};          // zeros: any, but for those that are pinned
  uint64_t min_generation = 0;  // of the gallery
  uint64_t now = 0;             // UnixTime; 0: the system's
};

// SignedFile: what was signed, and by whom. Views: the caller keeps the bytes.
struct SignedFile {
  Statement statement;
  SignerKey signer{};
  std::string signer_name;  // in the trust file; empty where nobody asked it
  std::span<const uint8_t> file;
};

// kClockSkew: by how much a signer's clock may be ahead of the reader's, in seconds.
inline constexpr uint64_t kClockSkew = 300;

// IsSigned: whether the bytes begin a signed file.
HEFT_EXPORT bool IsSigned(std::span<const uint8_t> bytes);

// OpenSigned: the file in a signed one, if it is by a signer that `trust` lists in its role and as
// `expected`. The error says why it is refused: kDataLoss for damage and false signatures,
// kFailedPrecondition for the rest: unsigned; unknown or revoked signer; another role, kind,
// audience or gallery; an older generation; expired, or from the future. `what` names the file.
HEFT_EXPORT absl::StatusOr<SignedFile> OpenSigned(std::span<const uint8_t> bytes,
                                                  const Trust& trust, const Expected& expected,
                                                  std::string_view what);

// ReadSigned: the same without asking whether to believe the signer; the signature itself is
// checked. For showing.
HEFT_EXPORT absl::StatusOr<SignedFile> ReadSigned(std::span<const uint8_t> bytes,
                                                  std::string_view what);

}  // namespace heft

#endif  // HEFT_TRUST_H_
