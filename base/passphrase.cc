// SPDX-License-Identifier: Apache-2.0
#include "base/passphrase.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

constexpr uint8_t kClear = 0;
constexpr uint8_t kSealed = 1;
constexpr unsigned long long kOpsLimit = crypto_pwhash_OPSLIMIT_MODERATE;
constexpr size_t kMemLimit = crypto_pwhash_MEMLIMIT_MODERATE;
// Higher than any sensible file; a hostile file must not exhaust memory.
constexpr uint64_t kMaxOps = 16;
constexpr uint64_t kMaxMemory = uint64_t{1} << 31;

constexpr size_t kSaltSize = crypto_pwhash_SALTBYTES;
constexpr size_t kNonceSize = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTagSize = crypto_aead_xchacha20poly1305_ietf_ABYTES;

absl::StatusOr<SecureVector<uint8_t>> DeriveKey(std::span<const char> passphrase, ByteSpan salt,
                                                uint64_t ops, uint64_t memory) {
  HEFT_ASSIGN_OR_RETURN(auto key,
                        SecureVector<uint8_t>::Create(crypto_aead_xchacha20poly1305_ietf_KEYBYTES));
  if (crypto_pwhash(key.data(), key.size(), passphrase.data(), passphrase.size(), salt.data(), ops,
                    memory, crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return absl::UnavailableError("not enough memory to derive a key from the passphrase");
  }
  return key;
}

}  // namespace

absl::Status AskPassphrase(const PassphraseSource& source, Wiped* out) {
  if (!source) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(out->text, source());
  if (out->text.empty()) {
    return absl::InvalidArgumentError("the passphrase is empty: give another, or none");
  }
  return absl::OkStatus();
}

absl::Status WriteSecret(ByteWriter* writer, ByteSpan secret, std::span<const char> passphrase) {
  if (passphrase.empty()) {
    writer->U8(kClear);
    writer->Raw(secret);
    return absl::OkStatus();
  }
  writer->U8(kSealed);
  const std::vector<uint8_t> associated = writer->bytes();
  std::array<uint8_t, kSaltSize> salt;
  std::array<uint8_t, kNonceSize> nonce;
  randombytes_buf(salt.data(), salt.size());
  randombytes_buf(nonce.data(), nonce.size());
  HEFT_ASSIGN_OR_RETURN(const auto derived, DeriveKey(passphrase, salt, kOpsLimit, kMemLimit));
  std::vector<uint8_t> cipher(secret.size() + kTagSize);
  crypto_aead_xchacha20poly1305_ietf_encrypt(cipher.data(), nullptr, secret.data(), secret.size(),
                                             associated.data(), associated.size(), nullptr,
                                             nonce.data(), derived.data());
  writer->U64(kOpsLimit);
  writer->U64(kMemLimit);
  writer->Raw(salt);
  writer->Raw(nonce);
  writer->Raw(cipher);
  return absl::OkStatus();
}

bool SecretIsSealed(ByteReader& reader) {
  const uint8_t form = reader.U8();
  if (form > kSealed) reader.Fail(absl::StrCat("unknown form ", form));
  return form == kSealed;
}

absl::Status ReadSecret(ByteReader& reader, ByteSpan payload, bool sealed,
                        std::span<const char> passphrase, std::string_view what,
                        std::span<uint8_t> secret) {
  if (!sealed) {
    const ByteSpan raw = reader.Raw(secret.size());
    HEFT_RETURN_IF_ERROR(reader.Finish());
    std::copy(raw.begin(), raw.end(), secret.begin());
    return absl::OkStatus();
  }
  const ByteSpan associated = payload.first(payload.size() - reader.remaining());
  const uint64_t ops = reader.U64();
  const uint64_t memory = reader.U64();
  const ByteSpan salt = reader.Raw(kSaltSize);
  const ByteSpan nonce = reader.Raw(kNonceSize);
  const ByteSpan cipher = reader.Raw(secret.size() + kTagSize);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  if (ops < 1 || ops > kMaxOps || memory < crypto_pwhash_MEMLIMIT_MIN || memory > kMaxMemory) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": asks for an unreasonable Argon2id cost"));
  }
  if (passphrase.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        std::string(what), ": sealed under a passphrase: give --passphrase-file, or a terminal"));
  }
  HEFT_ASSIGN_OR_RETURN(const auto derived, DeriveKey(passphrase, salt, ops, memory));
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          secret.data(), nullptr, nullptr, cipher.data(), cipher.size(), associated.data(),
          associated.size(), nonce.data(), derived.data()) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": wrong passphrase"));
  }
  return absl::OkStatus();
}

}  // namespace heft
