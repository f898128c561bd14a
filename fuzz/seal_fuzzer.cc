// SPDX-License-Identifier: Apache-2.0
// Objects of Microsoft SEAL (seal/), under the parameters of tests/data/seal. SEAL's files do not
// tell what they hold, so every reader gets every input; what one accepts is written and read
// again.
#include "ckks/arithmetic.h"
#include "fuzz/fuzz.h"
#include "seal/keys.h"
#include "seal/objects.h"
#include "seal/owner/secret_key.h"

namespace heft::fuzz {
namespace {

using seal::Compression;

const ckks::Context& SealContext() {
  static const ckks::Context context(*ckks::Params::FromPrimes(
      64, {1073739649, 268432897, 1048193, 1073741441}, /*allow_insecure=*/true));
  return context;
}

bool Same(const ring::RnsPoly& a, const ring::RnsPoly& b) {
  return std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end());
}

void CheckReduced(const ring::RnsPoly& poly) {
  for (size_t l = 0; l < poly.limbs(); ++l) {
    for (uint32_t v : poly.limb(l)) {
      Check(v < SealContext().modulus(l).value(), "residues below their primes");
    }
  }
}

void CheckKey(const seal::KeyPart& part) {
  CheckReduced(part.b);
  CheckReduced(part.a);
}

void ReadParams(ByteSpan bytes) {
  const auto params = seal::ReadParams(bytes, "input", /*allow_insecure=*/true);
  if (!params.ok()) return CheckRefusal(params.status());
  const auto again =
      seal::ReadParams(seal::WriteParams(*params, Compression::kNone), "written", true);
  Check(again.ok() && *again == *params, "parameters read back as written");
}

void ReadPlaintext(ByteSpan bytes) {
  const auto plain = seal::ReadPlaintext(SealContext(), bytes, "input");
  if (!plain.ok()) return CheckRefusal(plain.status());
  CheckReduced(plain->poly);
  const auto written = seal::WritePlaintext(SealContext(), *plain, Compression::kNone);
  Check(written.ok(), "a plaintext that is read can be written");
  const auto again = seal::ReadPlaintext(SealContext(), *written, "written");
  Check(again.ok() && Same(again->poly, plain->poly), "a plaintext reads back as written");
}

void ReadCiphertext(ByteSpan bytes) {
  const auto c = seal::ReadCiphertext(SealContext(), bytes, "input");
  if (!c.ok()) return CheckRefusal(c.status());
  ckks::Ciphertext checked = *c;
  Check(c->scale > 0, "a positive scale");
  checked.scale = 1;
  Check(ckks::CheckCiphertext(SealContext(), checked).ok(), "residues below their primes");
  const auto again = seal::ReadCiphertext(
      SealContext(), seal::WriteCiphertext(SealContext(), *c, Compression::kNone), "written");
  Check(again.ok() && again->size() == c->size() && Same(again->parts[1], c->parts[1]),
        "a ciphertext reads back as written");
}

void ReadKeys(ByteSpan bytes) {
  const auto key = seal::ReadPublicKey(SealContext(), bytes, "input");
  if (key.ok()) {
    CheckKey(*key);
  } else {
    CheckRefusal(key.status());
  }
  const auto relinearisation = seal::ReadRelinearisationKey(SealContext(), bytes, "input");
  if (relinearisation.ok()) {
    Check(relinearisation->size() == SealContext().params().limbs(), "a digit a data prime");
    for (const seal::KeyPart& digit : *relinearisation) CheckKey(digit);
  } else {
    CheckRefusal(relinearisation.status());
  }
  // Conjugation, and a rotation by one.
  const auto galois = seal::ReadGaloisKeys(SealContext(), bytes, {{127, 3}, {3, 2}}, "input");
  if (!galois.ok()) return CheckRefusal(galois.status());
  for (const auto& [element, full] : *galois) {
    Check(full.limbs() == (element == 3 ? 2u : 3u), "a key cut as it was asked for");
  }
}

void ReadSecretKey(ByteSpan bytes) {
  const auto key = seal::ReadSecretKey(SealContext(), {}, bytes, "input");
  if (!key.ok()) return CheckRefusal(key.status());
  const auto written = seal::WriteSecretKey(SealContext(), *key);
  Check(written.ok(), "a secret key that is read can be written");
  const auto again = seal::ReadSecretKey(SealContext(), {}, written->span(), "written");
  Check(again.ok() && std::equal(again->coefficients().begin(), again->coefficients().end(),
                                 key->coefficients().begin()),
        "a secret key reads back as written");
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const heft::ByteSpan bytes(data, size);
  heft::fuzz::ReadParams(bytes);
  heft::fuzz::ReadPlaintext(bytes);
  heft::fuzz::ReadCiphertext(bytes);
  heft::fuzz::ReadKeys(bytes);
  heft::fuzz::ReadSecretKey(bytes);
  return 0;
}
