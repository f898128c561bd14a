// SPDX-License-Identifier: Apache-2.0
// The constant-time check: all code that touches a secret runs under valgrind, with secrets marked
// as uninitialised (base/constant_time.h). memcheck reports every conditional jump and every
// address that depends on them. It does not see instructions whose own time depends on their
// operands (division on old machines). Nor does it see code that the compiler turned into a
// conditional move, which takes the same time either way.
//
//   valgrind --error-exitcode=1 constant_time         must find nothing
//   valgrind --error-exitcode=1 constant_time --leak  must find the planted branch and look-up
#include "base/constant_time.h"

#include <hwy/nanobenchmark.h>
#include <valgrind/memcheck.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "base/testing.h"
#include "ckks/arithmetic.h"
#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "ckks/owner/secret_key.h"
#include "fusion/owner/renewal.h"
#include "ring/sampling.h"

// Highway measures its clock before main, with an instruction that valgrind refuses where the
// processor does not announce it (RDTSCP, on some virtual machines). The check needs no clock.
namespace hwy::platform {
__attribute__((visibility("default"))) uint64_t TimerResolution() { return 1; }
}  // namespace hwy::platform

namespace heft {
namespace {

// Ends the program if a check fails, since later results would mean nothing.
void Require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "constant_time: " << what << "\n";
  std::exit(2);
}

// Whether memcheck holds these bytes to be secret. If a mark is lost on the way, every later check
// is empty.
template <typename T>
bool IsSecret(std::span<const T> values) {
  for (const T& v : values) {
    if (VALGRIND_CHECK_MEM_IS_DEFINED(&v, sizeof(v)) != 0) return true;
  }
  return false;
}

template <typename T>
void RequireSecret(std::span<const T> values, const char* what) {
  // Otherwise memcheck counts each of these questions as an error.
  VALGRIND_DISABLE_ERROR_REPORTING;
  const bool secret = IsSecret(values);
  VALGRIND_ENABLE_ERROR_REPORTING;
  Require(secret, what);
}

void Release(const ring::RnsPoly& poly) {
  Declassify(poly.values().data(), poly.values().size_bytes());
}

// A generator whose whole stream is secret.
struct SecretRandomness {
  explicit SecretRandomness(uint8_t number) : seed{number}, rng((MarkSecret(&seed, 32), seed)) {}
  Seed seed;
  TestCsprng rng;
};

void Samplers() {
  SecretRandomness random(1);
  std::vector<int8_t> ternary(4096), error(4096);
  ring::SampleTernary(ternary, random.rng);
  ring::SampleError(error, random.rng);
  RequireSecret<int8_t>(ternary, "the ternary sampler lost its marks");
  RequireSecret<int8_t>(error, "the error sampler lost its marks");
}

struct World {
  World()
      : params(*ckks::Params::Create(
            {.n = 1024, .data_bits = {30, 28, 20}, .special_bits = 30, .allow_insecure = true})),
        context(std::make_shared<ckks::Context>(params)),
        encoder(context) {}
  ckks::Params params;
  std::shared_ptr<ckks::Context> context;
  ckks::Encoder encoder;
};

// Key generation: the secret, and all keys made from it. They are public once they are made.
ckks::SecretKey Keys(const World& world, ckks::PublicKey* public_key,
                     ckks::EvaluationKeys* evaluation) {
  SecretRandomness random(2);
  const ckks::Context& context = *world.context;
  auto secret = ckks::SecretKey::Generate(context, random.rng);
  Require(secret.ok(), "no secret key");
  RequireSecret(secret->coefficients(), "the secret key lost its marks");
  for (size_t i = 0; i <= context.special_index(); ++i) {
    RequireSecret(secret->residues(i), "the secret key's residues lost their marks");
  }
  Require(ckks::CheckUniformTernary(secret->coefficients(), "secret").ok(), "an unlikely secret");
  *public_key = ckks::MakePublicKey(context, *secret, random.rng);
  RequireSecret<uint32_t>(public_key->b.values(), "the public key lost its marks");
  Release(public_key->b);
  const size_t limbs = world.params.limbs();
  auto expand = [&](ckks::SeededSwitchKey key, uint32_t element) {
    for (const ring::RnsPoly& b : key.b) {
      RequireSecret<uint32_t>(b.values(), "a switching key lost its marks");
      Release(b);
    }
    return ckks::SwitchKey(context, key, element);
  };
  evaluation->relinearisation =
      expand(ckks::MakeRelinearisationKey(context, *secret, limbs, random.rng), 1);
  const uint32_t element = ckks::RotationElement(world.params, 1);
  evaluation->galois[element] =
      expand(ckks::MakeGaloisKey(context, *secret, element, limbs, random.rng), element);
  auto next = ckks::SecretKey::Generate(context, random.rng);
  Require(next.ok(), "no second secret key");
  expand(ckks::MakeRekeyingKey(context, *secret, *next, limbs, random.rng), 1);
  return std::move(*secret);
}

// The plaintext is as secret as the randomness. The ciphertext is public.
void EncryptAndDecrypt(const World& world) {
  const ckks::Context& context = *world.context;
  ckks::PublicKey public_key;
  ckks::EvaluationKeys evaluation;
  const ckks::SecretKey secret = Keys(world, &public_key, &evaluation);
  SecretRandomness random(3);
  auto plain = world.encoder.Encode(std::vector<double>{0.5, -0.25}, std::ldexp(1.0, 28), 3);
  Require(plain.ok(), "cannot encode");
  MarkSecret(plain->poly.values().data(), plain->poly.values().size_bytes());

  ckks::Ciphertext open = ckks::Encrypt(context, *plain, public_key, random.rng);
  for (const ring::RnsPoly& part : open.parts) {
    RequireSecret<uint32_t>(part.values(), "a ciphertext lost its marks");
    Release(part);
  }
  ckks::SeededCiphertext seeded = ckks::EncryptSymmetric(context, *plain, secret, random.rng);
  RequireSecret<uint32_t>(seeded.c0.values(), "a seeded ciphertext lost its marks");
  Release(seeded.c0);

  // Degree 1 and degree 2, as replies are.
  ckks::Ciphertext square;
  Require(ckks::Square(context, &square, open).ok(), "cannot square");
  for (const ckks::Ciphertext& c : {open, ckks::Expand(context, seeded), square}) {
    ckks::Plaintext opened = ckks::Decrypt(context, c, secret);
    RequireSecret<uint32_t>(opened.poly.values(), "a decryption lost its marks");
    // Decoding: integers become centred doubles, then slots.
    std::vector<ckks::Complex> slots = world.encoder.Decode(opened);
    Declassify(slots.data(), slots.size() * sizeof(slots[0]));  // the key owner may see them
    const double expected = c.size() == 3 ? 0.25 : 0.5;
    Require(std::abs(slots[0].real() - expected) < 1e-3, "the check computes something else");
  }
}

// A renewal of a block of random ciphertexts, as a hostile server may choose them. The decrypted
// values are as secret as the key, and the answer is public. Covers levels of one prime and of two.
void Renew(size_t level_primes) {
  const auto params = ckks::Params::Create({.n = 1024,
                                            .data_bits = {30, 30, 28, 28, 28, 28},
                                            .special_bits = 30,
                                            .allow_insecure = true,
                                            .level_primes = level_primes});
  Require(params.ok(), "no parameters");
  Instance instance;
  instance.context = std::make_shared<ckks::Context>(*params);
  const ckks::Context& context = *instance.context;
  instance.plan.gamma = 2;
  instance.plan.matching.block_scale = level_primes == 1 ? 0x1p28 : 0x1p56;
  SecretRandomness random(5);
  const auto secret = ckks::SecretKey::Generate(context, random.rng);
  Require(secret.ok(), "no secret key");
  Csprng rng;
  PaddedBlock source;
  source.ciphertexts.resize(instance.plan.gamma);
  const size_t limbs = MatchLimbs(*params);
  for (PaddedBlock::Parts& c : source.ciphertexts) {
    for (ring::RnsPoly& part : c.part) {
      part = ring::RnsPoly(context.n(), limbs + 1);
      for (size_t l = 0; l <= limbs; ++l) {
        const size_t prime = l < limbs ? l : context.special_index();
        ckks::ExpandUniform(context, part.limb(l), rng.NewSeed(), 0, prime);
      }
    }
  }
  // Runs the library's own division by the special prime, clamps, transforms and encryption.
  const std::vector<Move> moves = {{0, 0, 0}, {0, 5, 600}, {0, 1023, 2}};
  const auto answer = RenewBlock(instance, *secret, {&source, 1}, moves);
  Require(answer.ok(), "no answer");
  for (const ckks::SeededCiphertext& c : *answer) {
    RequireSecret<uint32_t>(c.c0.values(), "an answer lost its marks");
    Release(c.c0);
  }
}

// The leaks that the check must find.
int Leak() {
  SecretRandomness random(4);
  const uint32_t secret = random.rng.U32();
  static volatile int table[256] = {};
  int sum = table[secret & 255];
  if (secret & 256) sum += 1 + table[0];
  return sum;
}

}  // namespace
}  // namespace heft

int main(int argc, char** argv) {
  if (!RUNNING_ON_VALGRIND) {
    std::cerr << "constant_time: run me under valgrind\n";
    return 2;
  }
  if (argc > 1 && std::strcmp(argv[1], "--leak") == 0) {
    std::cout << (heft::Leak() < 0 ? "" : "leaked") << "\n";
    return 0;
  }
  const std::string kernels = heft::ring::ActiveKernels().name;
  if (const char* wanted = std::getenv("HEFT_SIMD"); wanted != nullptr && kernels != wanted) {
    std::cout << "skipped: this machine has no " << wanted << " kernels\n";
    return 0;
  }
  heft::Samplers();
  heft::EncryptAndDecrypt(heft::World());
  heft::Renew(1);
  heft::Renew(2);
  std::cout << "checked with " << kernels << " kernels\n";
  return 0;
}
