// SPDX-License-Identifier: Apache-2.0
// Signatures: Ed25519 over HEFT's files, with signer, audience and validity, and the trust file
// that lists the accepted public keys. Link heft::server: a signing key decrypts nothing.
//
//   auto key = heft::SigningKey::Load("gallery/server.key");
//   auto signed_reply = key->Sign({.role = heft::Role::kServer, .expires = in_an_hour}, reply);
//   auto trust = heft::Trust::Load("keys/trust.heft");
//   auto file = heft::OpenSigned(bytes, *trust, {.roles = {heft::Role::kServer}}, "reply");
//
// Functions that take a file's bytes also take signed files and ignore the signature. OpenSigned,
// KeyOwner::RequireSigned and the tools check signatures.
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
#include "heft/base.h"

namespace heft {

// PassphraseSource: called once if a passphrase is needed; its result is wiped after use.
using PassphraseSource = std::function<absl::StatusOr<std::string>()>;

// SignerKey: an Ed25519 public key. Zeros mean no key, or any key.
using SignerKey = std::array<uint8_t, 32>;
// GalleryId: 16 random bytes, drawn when a gallery is created. Zeros: none.
using GalleryId = std::array<uint8_t, 16>;
// Digest: SHA-256.
using Digest = std::array<uint8_t, 32>;

// Role: the role in which a signer signs.
enum class Role : uint8_t {
  kKeyOwner = 1,   // keys
  kServer = 2,     // replies
  kClient = 3,     // requests: samples and probes
  kRegistrar = 4,  // enrolments
  kTrainer = 5,    // models
};
// RoleName: "key-owner", "server", "client", "registrar" or "trainer". ParseRole: kInvalidArgument
// lists these names.
HEFT_EXPORT std::string_view RoleName(Role role);
HEFT_EXPORT absl::StatusOr<Role> ParseRole(std::string_view name);

// ParseSignerKey: reads 64 hexadecimal digits, as in NAME.pub, and ignores text after them and
// white space. kInvalidArgument.
HEFT_EXPORT absl::StatusOr<SignerKey> ParseSignerKey(std::string_view text);
// ParseGalleryId: reads 32 hexadecimal digits. kInvalidArgument.
HEFT_EXPORT absl::StatusOr<GalleryId> ParseGalleryId(std::string_view text);

// UnixTime: seconds since 1970.
HEFT_EXPORT uint64_t UnixTime();

// Statement: the signed facts about a file.
struct Statement {
  Role role = Role::kKeyOwner;      // role of the signer
  std::string kind = {};            // of the file, four letters (docs/formats.md); Sign sets it
  SignerKey audience{};             // intended reader; zeros: anybody
  SignerKey subject{};              // in a reply: the client that asked; zeros: unknown
  GalleryId gallery{};              // zeros: of none
  uint64_t generation = 0;          // of that gallery
  std::array<uint8_t, 16> nonce{};  // Sign draws it if it is zeros
  Digest request{};                 // in a reply: RequestDigest of the request
  uint64_t issued = 0;              // UnixTime; Sign sets it if it is 0
  uint64_t expires = 0;             // last second of its validity; 0: no end
};

// RequestDigest: binds a reply to its request: the files as they were sent, in any order
// (FilesDigest), and the row that was the probe.
HEFT_EXPORT Digest FilesDigest(std::span<const std::span<const uint8_t>> files);
HEFT_EXPORT Digest RequestDigest(const Digest& files, uint64_t row);

// SigningKey: an Ed25519 key pair. The secret half is in locked memory if the system permits it.
// Const calls are safe from any number of threads.
class HEFT_EXPORT SigningKey {
 public:
  class HEFT_HIDDEN Impl;

  static absl::StatusOr<SigningKey> Generate();
  // Reads a file that Save wrote. kFailedPrecondition for a file that other users may read, or a
  // sealed one without `passphrase`; kInvalidArgument for a wrong passphrase; kDataLoss; kNotFound.
  static absl::StatusOr<SigningKey> Load(const std::string& path,
                                         const PassphraseSource& passphrase = {});
  // Writes the file with mode 0600, sealed if `passphrase` gives one. kAlreadyExists.
  absl::Status Save(const std::string& path, const PassphraseSource& passphrase = {}) const;

  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  ~SigningKey();

  const SignerKey& public_key() const;
  // Returns the statement, the signature and `file` as one signed file. kInvalidArgument unless
  // `file` is a HEFT file that is not signed itself.
  absl::StatusOr<std::vector<uint8_t>> Sign(Statement statement,
                                            std::span<const uint8_t> file) const;

 private:
  friend struct Inside;
  explicit SigningKey(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Trust: the accepted signers of each role, revoked keys, and pinned galleries. If galleries are
// pinned, only their replies are accepted. It is a text file (docs/formats.md). All checks depend
// on it, so it must come from a trusted source.
class HEFT_EXPORT Trust {
 public:
  struct Key {
    std::string name;
    SignerKey key{};
    bool operator==(const Key&) const = default;
  };
  struct PinnedGallery {
    GalleryId id{};
    uint64_t generation = 0;  // replies of older generations are refused
    bool operator==(const PinnedGallery&) const = default;
  };

  // kDataLoss if the text is not a trust file; `what` names it in errors. Load: also kNotFound,
  // kUnavailable.
  static absl::StatusOr<Trust> Parse(std::string_view text, std::string_view what);
  static absl::StatusOr<Trust> Load(const std::string& path);
  // LoadGuarded: for decisions that depend on the file. Also kFailedPrecondition if every user may
  // write it.
  static absl::StatusOr<Trust> LoadGuarded(const std::string& path);
  std::string Serialize() const;
  // Replaces the file.
  absl::Status Save(const std::string& path) const;

  const std::vector<Key>& keys(Role role) const;
  const std::vector<Key>& revoked() const { return revoked_; }
  const std::vector<PinnedGallery>& galleries() const { return galleries_; }
  bool Lists(Role role) const { return !keys(role).empty(); }
  bool IsRevoked(const SignerKey& key) const;

  // kAlreadyExists for a key or name that the role has; kFailedPrecondition for a revoked key;
  // kInvalidArgument for a name that is no valid identity, and for zeros.
  absl::Status Add(Role role, const std::string& name, const SignerKey& key);
  // Refuses the key in every role from now on. kNotFound for a key in no role.
  absl::Status Revoke(const SignerKey& key);
  // Accepts only replies of pinned galleries, from `generation` on. A second call changes the
  // generation.
  void Pin(const GalleryId& gallery, uint64_t generation = 0);

 private:
  std::array<std::vector<Key>, 5> keys_;  // by role
  std::vector<Key> revoked_;
  std::vector<PinnedGallery> galleries_;
};

// Expected: a reader's requirements for a signed file.
struct Expected {
  std::vector<Role> roles = {};  // one of these; empty: any
  std::string kind = {};         // empty: any
  SignerKey audience{};          // the reader; zeros: accepts only files for anybody
  GalleryId gallery{};           // zeros: any, or any pinned one
  uint64_t min_generation = 0;   // of the gallery
  uint64_t now = 0;              // UnixTime; 0: the system's
};

// SignedFile: the content of a signed file and its signer. These are views: the caller keeps the
// bytes.
struct SignedFile {
  Statement statement;
  SignerKey signer{};
  std::string signer_name;  // in the trust file; empty if none was used
  std::span<const uint8_t> file;
};

// kClockSkew: how many seconds a signer's clock may be ahead of the reader's.
inline constexpr uint64_t kClockSkew = 300;

// IsSigned: whether the bytes begin with the header of a signed file.
HEFT_EXPORT bool IsSigned(std::span<const uint8_t> bytes);

// OpenSigned: returns the file if `trust` lists its signer in its role and it meets `expected`.
// `what` names the file in errors. kDataLoss for damage and false signatures. kFailedPrecondition
// for an unsigned file; an unknown or revoked signer; another role, kind, audience or gallery; an
// older generation; and a file that has expired or is from the future.
HEFT_EXPORT absl::StatusOr<SignedFile> OpenSigned(std::span<const uint8_t> bytes,
                                                  const Trust& trust, const Expected& expected,
                                                  std::string_view what);

// ReadSigned: the same without a trust file, for display. Only the signature itself is checked.
HEFT_EXPORT absl::StatusOr<SignedFile> ReadSigned(std::span<const uint8_t> bytes,
                                                  std::string_view what);

// Signing keys outside this process, such as in a token or a service. This process has the public
// half and requests each signature. Link heft::server.

// OutsideSigner: returns the Ed25519 signature (RFC 8032, without a context) of a message. Any
// number of threads may call it. kUnavailable if it cannot sign now.
using OutsideSigner =
    std::function<absl::StatusOr<std::array<uint8_t, 64>>(std::span<const uint8_t> message)>;

// OutsideSigningKey: a signing key that cannot be saved. Each signature of `sign` is checked with
// the public half before it is used.
HEFT_EXPORT absl::StatusOr<SigningKey> OutsideSigningKey(const SignerKey& public_key,
                                                         OutsideSigner sign);

// UseGallerySigner: makes this key the GallerySigner, in this process, for the galleries of the
// store in `folder`. FOLDER/server.key is then neither read nor created; FOLDER/server.pub is the
// public half. Other processes get an error that says so when they sign. GallerySigner returns
// kFailedPrecondition while FOLDER/server.key exists, because it could still sign.
HEFT_EXPORT void UseGallerySigner(const std::string& folder, const SignerKey& public_key,
                                  OutsideSigner sign);

}  // namespace heft

#endif  // HEFT_TRUST_H_
