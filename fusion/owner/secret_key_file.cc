// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/secret_key_file.h"

#include <sodium.h>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"

namespace heft {
namespace {

constexpr uint32_t kVersion = 1;
constexpr uint32_t kTwoRingsVersion = 2;
constexpr uint8_t kClear = 0;
constexpr uint8_t kSealed = 1;
constexpr unsigned long long kOpsLimit = crypto_pwhash_OPSLIMIT_MODERATE;
constexpr size_t kMemLimit = crypto_pwhash_MEMLIMIT_MODERATE;
// More than any sane file asks for; a hostile one must not make us take all memory.
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

struct Header {
  ckks::ParamsId params_id{};
  ckks::KeyId key_id{};
  uint8_t form = 0;
};

Header ReadHeader(ByteReader& reader) {
  Header header;
  header.params_id = ckks::ReadId(reader);
  header.key_id = ckks::ReadId(reader);
  header.form = reader.U8();
  if (header.form > kSealed) reader.Fail(absl::StrCat("unknown form ", header.form));
  return header;
}

}  // namespace

namespace {

ByteSpan CoefficientBytes(const ckks::SecretKey& key) {
  return {reinterpret_cast<const uint8_t*>(key.coefficients().data()), key.coefficients().size()};
}

absl::StatusOr<std::vector<uint8_t>> Serialize(uint32_t version, const ckks::ParamsId& params_id,
                                               const ckks::KeyId& key_id, ByteSpan plain,
                                               std::span<const char> passphrase) {
  ByteWriter writer;
  writer.Reserve(plain.size() + 1024);
  ckks::WriteId(writer, params_id);
  ckks::WriteId(writer, key_id);
  if (passphrase.empty()) {
    writer.U8(kClear);
    writer.Raw(plain);
    std::vector<uint8_t> sealed = SealEnvelope(kSecretKeyKind, version, writer.bytes());
    std::vector<uint8_t> scratch = writer.Take();
    SecureWipe(scratch.data(), scratch.size());
    return sealed;
  }
  writer.U8(kSealed);
  const std::vector<uint8_t> associated = writer.bytes();
  std::array<uint8_t, kSaltSize> salt;
  std::array<uint8_t, kNonceSize> nonce;
  randombytes_buf(salt.data(), salt.size());
  randombytes_buf(nonce.data(), nonce.size());
  HEFT_ASSIGN_OR_RETURN(const auto derived, DeriveKey(passphrase, salt, kOpsLimit, kMemLimit));
  std::vector<uint8_t> cipher(plain.size() + kTagSize);
  crypto_aead_xchacha20poly1305_ietf_encrypt(cipher.data(), nullptr, plain.data(), plain.size(),
                                             associated.data(), associated.size(), nullptr,
                                             nonce.data(), derived.data());
  writer.U64(kOpsLimit);
  writer.U64(kMemLimit);
  writer.Raw(salt);
  writer.Raw(nonce);
  writer.Raw(cipher);
  return SealEnvelope(kSecretKeyKind, version, writer.bytes());
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> SerializeSecretKey(const ckks::Context& context,
                                                        const ckks::SecretKey& key,
                                                        std::span<const char> passphrase) {
  return Serialize(kVersion, context.params().id(), key.key_id(), CoefficientBytes(key),
                   passphrase);
}

absl::StatusOr<std::vector<uint8_t>> SerializeSecretKeys(const Rings& rings,
                                                         const SecretKeys& keys,
                                                         std::span<const char> passphrase) {
  if (!rings.thin()) {
    return SerializeSecretKey(*rings.enrolment.context, keys.enrolment, passphrase);
  }
  const ByteSpan large = CoefficientBytes(keys.enrolment), half = CoefficientBytes(*keys.small);
  HEFT_ASSIGN_OR_RETURN(auto both, SecureVector<uint8_t>::Create(large.size() + half.size()));
  std::copy(half.begin(), half.end(), std::copy(large.begin(), large.end(), both.data()));
  return Serialize(kTwoRingsVersion, rings.enrolment.params().id(), keys.key_id(), both.span(),
                   passphrase);
}

absl::StatusOr<bool> SecretKeyIsSealed(ByteSpan bytes, std::string_view what) {
  const uint32_t version = EnvelopeVersion(bytes) == kTwoRingsVersion ? kTwoRingsVersion : kVersion;
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kSecretKeyKind, version, what));
  ByteReader reader(payload, what);
  const Header header = ReadHeader(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  return header.form == kSealed;
}

namespace {

// Opened: what a file holds in the clear.
struct Opened {
  ckks::KeyId key_id{};
  SecureVector<int8_t> coefficients;
};

absl::StatusOr<Opened> Open(uint32_t version, const ckks::Params& params, size_t size,
                            ByteSpan bytes, std::span<const char> passphrase,
                            std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kSecretKeyKind, version, what));
  ByteReader reader(payload, what);
  const Header header = ReadHeader(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(params, header.params_id, what));
  Opened out;
  out.key_id = header.key_id;
  HEFT_ASSIGN_OR_RETURN(out.coefficients, SecureVector<int8_t>::Create(size));
  uint8_t* plain = reinterpret_cast<uint8_t*>(out.coefficients.data());
  if (header.form == kClear) {
    const ByteSpan raw = reader.Raw(size);
    HEFT_RETURN_IF_ERROR(reader.Finish());
    std::copy(raw.begin(), raw.end(), plain);
    return out;
  }
  const ByteSpan associated = payload.first(payload.size() - reader.remaining());
  const uint64_t ops = reader.U64();
  const uint64_t memory = reader.U64();
  const ByteSpan salt = reader.Raw(kSaltSize);
  const ByteSpan nonce = reader.Raw(kNonceSize);
  const ByteSpan cipher = reader.Raw(size + kTagSize);
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
          plain, nullptr, nullptr, cipher.data(), cipher.size(), associated.data(),
          associated.size(), nonce.data(), derived.data()) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": wrong passphrase"));
  }
  return out;
}

}  // namespace

absl::StatusOr<ckks::SecretKey> ParseSecretKey(const ckks::Context& context, ByteSpan bytes,
                                               std::span<const char> passphrase,
                                               std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const Opened opened, Open(kVersion, context.params(), context.n(), bytes,
                                                  passphrase, what));
  return ckks::SecretKey::FromCoefficients(context, opened.key_id, opened.coefficients.span());
}

absl::StatusOr<SecretKeys> ParseSecretKeys(const Rings& rings, ByteSpan bytes,
                                           std::span<const char> passphrase,
                                           std::string_view what) {
  const ckks::Context& large = *rings.enrolment.context;
  const ckks::Context& small = *rings.matching.context;
  if (!rings.thin()) {
    HEFT_ASSIGN_OR_RETURN(ckks::SecretKey key, ParseSecretKey(large, bytes, passphrase, what));
    return SecretKeys(std::move(key));
  }
  HEFT_ASSIGN_OR_RETURN(const Opened opened,
                        Open(kTwoRingsVersion, large.params(), size_t{large.n()} + small.n(), bytes,
                             passphrase, what));
  const std::span<const int8_t> all = opened.coefficients.span();
  HEFT_ASSIGN_OR_RETURN(
      ckks::SecretKey first,
      ckks::SecretKey::FromCoefficients(large, opened.key_id, all.first(large.n())));
  HEFT_ASSIGN_OR_RETURN(
      ckks::SecretKey second,
      ckks::SecretKey::FromCoefficients(small, opened.key_id, all.subspan(large.n())));
  return SecretKeys(std::move(first), std::move(second));
}

absl::StatusOr<std::vector<uint8_t>> EncryptSamplesSymmetric(
    const Instance& instance, const Model& model, size_t index, const ckks::SecretKey& key,
    std::span<const std::vector<double>> rows, std::span<const std::string> labels,
    SampleForm form) {
  HEFT_ASSIGN_OR_RETURN(const SampleEncoder encoder,
                        SampleEncoder::Create(instance, model, index, rows, labels, form));
  const ckks::Context& context = *instance.context;
  SampleWriter writer(context,
                      MakeSampleHeader(instance, model, index, key.key_id(), true, form),
                      encoder.labels());
  Csprng rng;
  for (size_t i = 0; i < encoder.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(const auto plain, encoder.Encode(i));
    writer.Add(ckks::EncryptSymmetric(context, plain, key, rng));
  }
  return writer.Finish();
}

}  // namespace heft
