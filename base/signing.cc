// SPDX-License-Identifier: Apache-2.0
#include "base/signing.h"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/passphrase.h"

namespace heft {
namespace {

constexpr std::string_view kKind = "SIGK";
constexpr uint32_t kSigningKeyVersion = 1;
static_assert(kSigningSeedSize == crypto_sign_SEEDBYTES);
static_assert(sizeof(SignerKey) == crypto_sign_PUBLICKEYBYTES);
static_assert(sizeof(Signature) == crypto_sign_BYTES);

}  // namespace

absl::StatusOr<std::unique_ptr<SigningKey::Impl>> SigningKey::Impl::FromSeed(
    std::span<const uint8_t> seed) {
  if (sodium_init() < 0) return absl::UnavailableError("libsodium does not start");
  if (seed.size() != kSigningSeedSize) return absl::InvalidArgumentError("a seed has 32 bytes");
  std::unique_ptr<Impl> key(new Impl);
  HEFT_ASSIGN_OR_RETURN(key->secret_, SecureVector<uint8_t>::Create(crypto_sign_SECRETKEYBYTES));
  crypto_sign_seed_keypair(key->public_.data(), key->secret_.data(), seed.data());
  return key;
}

absl::StatusOr<std::unique_ptr<SigningKey::Impl>> SigningKey::Impl::Parse(
    ByteSpan bytes, const PassphraseSource& passphrase, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kKind, kSigningKeyVersion, what));
  ByteReader reader(payload, what);
  const ByteSpan stated = reader.Raw(sizeof(SignerKey));
  const bool sealed = SecretIsSealed(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  Wiped word;
  if (sealed) HEFT_RETURN_IF_ERROR(AskPassphrase(passphrase, &word));
  HEFT_ASSIGN_OR_RETURN(auto seed, SecureVector<uint8_t>::Create(kSigningSeedSize));
  HEFT_RETURN_IF_ERROR(ReadSecret(reader, payload, sealed, word.text, what, seed.span()));
  HEFT_ASSIGN_OR_RETURN(auto key, FromSeed(seed.span()));
  if (!std::ranges::equal(stated, key->public_)) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": its public and secret halves do not match"));
  }
  return key;
}

absl::StatusOr<std::vector<uint8_t>> SigningKey::Impl::Serialize(
    std::span<const char> passphrase) const {
  if (outside_) {
    return absl::FailedPreconditionError("the key is outside this process and cannot be saved");
  }
  ByteWriter writer;
  writer.Reserve(1024);
  writer.Raw(public_);
  const absl::Status written =
      WriteSecret(&writer, secret_.span().first(kSigningSeedSize), passphrase);
  std::vector<uint8_t> payload = writer.Take();
  std::vector<uint8_t> file;
  if (written.ok()) file = SealEnvelope(kKind, kSigningKeyVersion, payload);
  SecureWipe(payload.data(), payload.size());
  HEFT_RETURN_IF_ERROR(written);
  return file;
}

std::unique_ptr<SigningKey::Impl> SigningKey::Impl::Outside(const SignerKey& public_key,
                                                            OutsideSigner sign) {
  std::unique_ptr<Impl> key(new Impl);
  key->public_ = public_key;
  key->outside_ = std::move(sign);
  return key;
}

absl::StatusOr<Signature> SigningKey::Impl::Sign(ByteSpan message) const {
  Signature signature;
  if (outside_) {
    HEFT_ASSIGN_OR_RETURN(signature, outside_(message));
    if (SignatureIsGood(public_, message, signature)) return signature;
    return absl::UnavailableError("the outside signer uses another key than the given public key");
  }
  crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(), secret_.data());
  return signature;
}

bool SignatureIsGood(const SignerKey& key, ByteSpan message, const Signature& signature) {
  return crypto_sign_verify_detached(signature.data(), message.data(), message.size(),
                                     key.data()) == 0;
}

absl::StatusOr<SigningKey> SigningKeyOfSeed(std::span<const uint8_t> seed) {
  HEFT_ASSIGN_OR_RETURN(auto impl, SigningKey::Impl::FromSeed(seed));
  return Inside::Make<SigningKey>(std::move(impl));
}

absl::StatusOr<SigningKey> OutsideSigningKey(const SignerKey& public_key, OutsideSigner sign) {
  if (sodium_init() < 0) return absl::UnavailableError("libsodium does not start");
  return Inside::Make<SigningKey>(SigningKey::Impl::Outside(public_key, std::move(sign)));
}

SigningKey::SigningKey(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;

absl::StatusOr<SigningKey> SigningKey::Generate() {
  if (sodium_init() < 0) return absl::UnavailableError("libsodium does not start");
  HEFT_ASSIGN_OR_RETURN(auto seed, SecureVector<uint8_t>::Create(kSigningSeedSize));
  randombytes_buf(seed.data(), seed.size());
  return SigningKeyOfSeed(seed.span());
}

absl::StatusOr<SigningKey> SigningKey::Load(const std::string& path,
                                            const PassphraseSource& passphrase) {
  HEFT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(path, 1 << 16));
  // Check the kind first: the error for a wrong file must not tell the user to change its mode.
  HEFT_RETURN_IF_ERROR(OpenEnvelope(file.bytes.span(), kKind, kSigningKeyVersion, path).status());
  HEFT_RETURN_IF_ERROR(file.permissions);
  HEFT_ASSIGN_OR_RETURN(auto impl, Impl::Parse(file.bytes.span(), passphrase, path));
  return SigningKey(std::move(impl));
}

absl::Status SigningKey::Save(const std::string& path, const PassphraseSource& passphrase) const {
  if (FileExists(path)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " exists: keys are never overwritten"));
  }
  Wiped word;
  HEFT_RETURN_IF_ERROR(AskPassphrase(passphrase, &word));
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, impl_->Serialize(word.text));
  const absl::Status written = WriteFileAtomic(path, bytes, 0600);
  SecureWipe(bytes.data(), bytes.size());
  return written;
}

const SignerKey& SigningKey::public_key() const { return impl_->public_key(); }

}  // namespace heft
