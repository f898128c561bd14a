// SPDX-License-Identifier: Apache-2.0
#include "seal/owner/secret_key.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "seal/format.h"

namespace heft::seal {
namespace {

using ring::ActiveKernels;

size_t KeyPrimes(const ckks::Context& context) { return context.params().limbs() + 1; }

// kFieldsSize: members of SEAL's plaintext at the key level before its residues; none follow them.
constexpr size_t kFieldsSize = sizeof(ParmsId) + 2 * sizeof(uint64_t) + kArrayOverhead;

size_t MembersSize(const ckks::Context& context) {
  return kFieldsSize + KeyPrimes(context) * context.n() * sizeof(uint64_t);
}

void WriteFields(ByteWriter& writer, const ckks::Context& context) {
  const size_t count = KeyPrimes(context) * context.n();
  writer.Raw(ParmsIdOf(context.params(), KeyPrimes(context)));
  writer.U64(count);
  writer.F64(1.0);
  WriteArrayHeader(writer, count);
}

absl::Status CheckFields(const ckks::Context& context, ByteSpan members, std::string_view what) {
  ByteReader reader(members, what);
  HEFT_ASSIGN_OR_RETURN(const size_t primes, ReadLevel(reader, context.params(), what));
  const uint64_t count = reader.U64();
  reader.F64();  // SEAL leaves the scale at 1 and never looks at it
  HEFT_ASSIGN_OR_RETURN(const ByteSpan array, ReadNested(reader, what));
  HEFT_RETURN_IF_ERROR(reader.Finish());
  ByteReader elements(array, what);
  const uint64_t stored = elements.U64();
  if (primes != KeyPrimes(context) || count != primes * context.n() || stored != count) {
    elements.Fail("not a secret key: its level or size is another");
  }
  return elements.status();
}

SealSeed NewSeed(Csprng& rng) {
  SealSeed seed;
  rng.Fill(seed.bytes);
  return seed;
}

KeyPart EncryptZero(const ckks::Context& context, const ckks::SecretKey& secret, size_t primes,
                    Csprng& rng) {
  KeyPart out;
  out.seed = NewSeed(rng);
  out.a = ExpandSeed(context, *out.seed, primes);
  out.b = ckks::MaskUniform(context, out.a, secret, rng);
  return out;
}

// MakeSwitchKey: `target(digit, out)` writes the polynomial to switch from, modulo prime `digit`.
template <typename Target>
KeyDigits MakeSwitchKey(const ckks::Context& context, const ckks::SecretKey& secret, Csprng& rng,
                        const Target& target) {
  const size_t n = context.n();
  AlignedVector<uint32_t> t(n);
  KeyDigits key;
  for (size_t digit = 0; digit < context.params().limbs(); ++digit) {
    KeyPart part = EncryptZero(context, secret, KeyPrimes(context), rng);
    const ring::Modulus& q = context.modulus(digit);
    target(digit, t.data());
    const uint32_t special = q.Reduce(context.params().special().value());
    ActiveKernels().multiply_scalar(t.data(), t.data(), q.Shoup(special), n, q);
    uint32_t* v = part.b.limb(digit).data();
    ActiveKernels().add(v, v, t.data(), n, q);
    key.push_back(std::move(part));
  }
  SecureWipe(t.data(), n * sizeof(uint32_t));
  return key;
}

// OpenMembers: the members of the object, decompressed, in locked memory.
absl::StatusOr<SecureVector<uint8_t>> OpenMembers(const ckks::Context& context, ByteSpan bytes,
                                                  std::string_view what) {
  ByteReader outer(bytes, what);
  HEFT_ASSIGN_OR_RETURN(const Header header, ReadHeader(outer, what));
  if (header.size != bytes.size()) {
    return absl::DataLossError(absl::StrCat(std::string(what), ": truncated or extended"));
  }
  const ByteSpan body = bytes.subspan(kHeaderSize);
  HEFT_ASSIGN_OR_RETURN(auto members, SecureVector<uint8_t>::Create(MembersSize(context)));
  if (header.compression != Compression::kNone) {
    HEFT_RETURN_IF_ERROR(DecompressExactly(header.compression, body, members.span(), what));
  } else if (body.size() == members.size()) {
    std::copy(body.begin(), body.end(), members.data());
  } else {
    return absl::DataLossError(absl::StrCat(std::string(what),
                                            ": not a secret key of these parameters: ", body.size(),
                                            " bytes where ", members.size(), " are needed"));
  }
  return members;
}

// Word: residue i of SEAL's array.
uint64_t Word(const uint8_t* residues, size_t i) {
  uint64_t value;
  std::memcpy(&value, residues + i * sizeof(value), sizeof(value));
  return value;
}

absl::Status NotTernary(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat(std::string(what), ": not a secret key: it is not ternary modulo every prime"));
}

// TernaryCoefficients: of the polynomial whose residues modulo the base prime come first. No branch
// on a secret, until the polynomial is known not to be one.
absl::StatusOr<SecureVector<int8_t>> TernaryCoefficients(const ckks::Context& context,
                                                         const uint8_t* residues,
                                                         std::string_view what) {
  const size_t n = context.n();
  const uint32_t q = context.modulus(0).value();
  HEFT_ASSIGN_OR_RETURN(auto values, SecureVector<uint32_t>::Create(n));
  bool reduced = true;
  for (size_t i = 0; i < n; ++i) {
    reduced &= Word(residues, i) < q;
    values[i] = static_cast<uint32_t>(Word(residues, i));
  }
  if (!reduced) return NotTernary(what);
  context.ntt(0).Inverse(values.span());
  HEFT_ASSIGN_OR_RETURN(auto coefficients, SecureVector<int8_t>::Create(n));
  bool ternary = true;
  for (size_t i = 0; i < n; ++i) {
    const bool one = values[i] == 1;
    const bool minus = values[i] == q - 1;
    ternary &= one | minus | (values[i] == 0);
    coefficients[i] = static_cast<int8_t>(one - minus);
  }
  if (!ternary) return NotTernary(what);
  return coefficients;
}

}  // namespace

absl::StatusOr<ckks::SecretKey> ReadSecretKey(const ckks::Context& context, const ckks::KeyId& id,
                                              ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const auto members, OpenMembers(context, bytes, what));
  HEFT_RETURN_IF_ERROR(CheckFields(context, members.span(), what));
  const uint8_t* residues = members.data() + kFieldsSize;
  HEFT_ASSIGN_OR_RETURN(const auto coefficients, TernaryCoefficients(context, residues, what));
  HEFT_RETURN_IF_ERROR(ckks::CheckUniformTernary(coefficients.span(), what));
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey key,
                        ckks::SecretKey::FromCoefficients(context, id, coefficients.span()));
  uint64_t difference = 0;
  for (size_t prime = 0; prime < KeyPrimes(context); ++prime) {
    for (size_t i = 0; i < context.n(); ++i) {
      difference |= Word(residues, prime * context.n() + i) ^ key.residues(prime)[i];
    }
  }
  if (difference != 0) return NotTernary(what);
  return key;
}

absl::StatusOr<SecureVector<uint8_t>> WriteSecretKey(const ckks::Context& context,
                                                     const ckks::SecretKey& key) {
  ByteWriter fields;  // public
  WriteHeader(fields, kHeaderSize + MembersSize(context));
  WriteFields(fields, context);
  HEFT_ASSIGN_OR_RETURN(auto out,
                        SecureVector<uint8_t>::Create(kHeaderSize + MembersSize(context)));
  uint8_t* at = std::copy(fields.bytes().begin(), fields.bytes().end(), out.data());
  for (size_t prime = 0; prime < KeyPrimes(context); ++prime) {
    for (uint32_t residue : key.residues(prime)) {
      const uint64_t word = residue;
      std::memcpy(at, &word, sizeof(word));
      at += sizeof(word);
    }
  }
  return out;
}

SeededEncryption EncryptSeeded(const ckks::Context& context, const ckks::Plaintext& plaintext,
                               const ckks::SecretKey& secret, Csprng& rng) {
  KeyPart zero = EncryptZero(context, secret, plaintext.limbs(), rng);
  SeededEncryption out;
  out.seed = *zero.seed;
  out.ciphertext.scale = plaintext.scale;
  out.ciphertext.noise = {
      plaintext.noise.message,
      ckks::Combine(plaintext.noise.error, ckks::SymmetricError(context.params()))};
  for (size_t l = 0; l < plaintext.limbs(); ++l) {
    uint32_t* v = zero.b.limb(l).data();
    ActiveKernels().add(v, v, plaintext.poly.limb(l).data(), context.n(), context.modulus(l));
  }
  out.ciphertext.parts.push_back(std::move(zero.b));
  out.ciphertext.parts.push_back(std::move(zero.a));
  return out;
}

KeyPart MakeSeededPublicKey(const ckks::Context& context, const ckks::SecretKey& secret,
                            Csprng& rng) {
  return EncryptZero(context, secret, KeyPrimes(context), rng);
}

KeyDigits MakeSeededRelinearisationKey(const ckks::Context& context, const ckks::SecretKey& secret,
                                       Csprng& rng) {
  return MakeSwitchKey(context, secret, rng, [&](size_t digit, uint32_t* out) {
    const uint32_t* s = secret.residues(digit).data();
    ActiveKernels().multiply(out, s, s, context.n(), context.modulus(digit));
  });
}

KeyDigits MakeSeededGaloisKey(const ckks::Context& context, const ckks::SecretKey& secret,
                              uint32_t element, Csprng& rng) {
  const ring::Permutation& table = context.permutation(element);
  return MakeSwitchKey(context, secret, rng, [&](size_t digit, uint32_t* out) {
    ActiveKernels().permute(out, secret.residues(digit).data(), table, context.n());
  });
}

}  // namespace heft::seal
