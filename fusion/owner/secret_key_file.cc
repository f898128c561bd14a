// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/secret_key_file.h"

#include "base/envelope.h"
#include "base/passphrase.h"
#include "base/secure.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"

namespace heft {
namespace {

constexpr uint32_t kSecretKeyVersion = 1;
constexpr uint32_t kTwoRingsVersion = 2;

struct Header {
  ckks::ParamsId params_id{};
  ckks::KeyId key_id{};
  bool sealed = false;
};

Header ReadHeader(ByteReader& reader) {
  Header header;
  header.params_id = ckks::ReadId(reader);
  header.key_id = ckks::ReadId(reader);
  header.sealed = SecretIsSealed(reader);
  return header;
}

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
  const absl::Status written = WriteSecret(&writer, plain, passphrase);
  std::vector<uint8_t> payload = writer.Take();
  std::vector<uint8_t> file;
  if (written.ok()) file = SealEnvelope(kSecretKeyKind, version, payload);
  SecureWipe(payload.data(), payload.size());
  HEFT_RETURN_IF_ERROR(written);
  return file;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> SerializeSecretKey(const ckks::Context& context,
                                                        const ckks::SecretKey& key,
                                                        std::span<const char> passphrase) {
  return Serialize(kSecretKeyVersion, context.params().id(), key.key_id(), CoefficientBytes(key),
                   passphrase);
}

absl::StatusOr<std::vector<uint8_t>> SerializeSecretKeys(const Rings& rings, const SecretKeys& keys,
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
  const uint32_t version =
      EnvelopeVersion(bytes) == kTwoRingsVersion ? kTwoRingsVersion : kSecretKeyVersion;
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kSecretKeyKind, version, what));
  ByteReader reader(payload, what);
  const Header header = ReadHeader(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  return header.sealed;
}

namespace {

// OpenedFile: the decrypted content of a file.
struct OpenedFile {
  ckks::KeyId key_id{};
  SecureVector<int8_t> coefficients;
};

absl::StatusOr<OpenedFile> Open(uint32_t version, const ckks::Params& params, size_t size,
                                ByteSpan bytes, std::span<const char> passphrase,
                                std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kSecretKeyKind, version, what));
  ByteReader reader(payload, what);
  const Header header = ReadHeader(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(params, header.params_id, what));
  OpenedFile out;
  out.key_id = header.key_id;
  HEFT_ASSIGN_OR_RETURN(out.coefficients, SecureVector<int8_t>::Create(size));
  HEFT_RETURN_IF_ERROR(
      ReadSecret(reader, payload, header.sealed, passphrase, what,
                 {reinterpret_cast<uint8_t*>(out.coefficients.data()), out.coefficients.size()}));
  return out;
}

}  // namespace

namespace {

absl::StatusOr<ckks::SecretKey> MakeKey(const ckks::Context& context, const ckks::KeyId& id,
                                        std::span<const int8_t> coefficients,
                                        std::string_view what) {
  // Report an invalid key before other errors.
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey key,
                        ckks::SecretKey::FromCoefficients(context, id, coefficients));
  HEFT_RETURN_IF_ERROR(ckks::CheckUniformTernary(coefficients, what));
  return key;
}

}  // namespace

absl::StatusOr<ckks::SecretKey> ParseSecretKey(const ckks::Context& context, ByteSpan bytes,
                                               std::span<const char> passphrase,
                                               std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const OpenedFile opened, Open(kSecretKeyVersion, context.params(),
                                                      context.n(), bytes, passphrase, what));
  return MakeKey(context, opened.key_id, opened.coefficients.span(), what);
}

absl::StatusOr<SecretKeys> ParseSecretKeys(const Rings& rings, ByteSpan bytes,
                                           std::span<const char> passphrase,
                                           std::string_view what) {
  const ckks::Context& large = *rings.enrolment.context;
  const ckks::Context& small = *rings.matching.context;
  if (EnvelopeKind(bytes) == kSecretKeyKind) {
    const uint32_t version = EnvelopeVersion(bytes);
    if (version == kSecretKeyVersion || version == kTwoRingsVersion) {
      HEFT_RETURN_IF_ERROR(CheckRingCount(rings.thin(), version == kTwoRingsVersion, what));
    }
  }
  if (!rings.thin()) {
    HEFT_ASSIGN_OR_RETURN(ckks::SecretKey key, ParseSecretKey(large, bytes, passphrase, what));
    return SecretKeys(std::move(key));
  }
  HEFT_ASSIGN_OR_RETURN(const OpenedFile opened,
                        Open(kTwoRingsVersion, large.params(), size_t{large.n()} + small.n(), bytes,
                             passphrase, what));
  const std::span<const int8_t> all = opened.coefficients.span();
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey first,
                        MakeKey(large, opened.key_id, all.first(large.n()), what));
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey second,
                        MakeKey(small, opened.key_id, all.subspan(large.n()), what));
  return SecretKeys(std::move(first), std::move(second));
}

absl::StatusOr<std::vector<uint8_t>> EncryptSamplesSymmetric(
    const Instance& instance, const Model& model, size_t index, const ckks::SecretKey& key,
    std::span<const std::vector<double>> rows, std::span<const std::string> labels,
    SampleForm form) {
  HEFT_ASSIGN_OR_RETURN(const SampleEncoder encoder,
                        SampleEncoder::Create(instance, model, index, rows, labels, form));
  const ckks::Context& context = *instance.context;
  SampleWriter writer(context, MakeSampleHeader(instance, model, index, key.key_id(), true, form),
                      encoder.labels());
  Csprng rng;
  for (size_t i = 0; i < encoder.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(const auto plain, encoder.Encode(i));
    writer.Add(ckks::EncryptSymmetric(context, plain, key, rng));
  }
  return writer.Finish();
}

}  // namespace heft
