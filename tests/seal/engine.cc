// SPDX-License-Identifier: Apache-2.0
// Our engine as a party beside SEAL, for tests/seal/engine.test.mjs. It reads and writes objects of
// SEAL in a folder.
//
//   seal_engine compute DIR          every operation of the evaluator on `a`, `b`, `p` -> out.NAME
//   seal_engine make DIR STEPS...    keys and encryptions of the slots in inputs.json
//   seal_engine decrypt DIR NAME...  prints the real parts of the slots as JSON
//   seal_engine check DIR NAME...    reads ciphertexts; the first error on stderr and exit code 3
#include <cmath>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "ckks/arithmetic.h"
#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "seal/objects.h"
#include "seal/owner/secret_key.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using ckks::Plaintext;
using seal::Compression;

constexpr int kExitInput = 3;

template <typename T>
T Check(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << "seal_engine: " << value.status().message() << "\n";
  std::exit(kExitInput);
}
void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << "seal_engine: " << status.message() << "\n";
  std::exit(kExitInput);
}

class Engine {
 public:
  explicit Engine(std::string folder)
      : folder_(std::move(folder)),
        context_(std::make_shared<ckks::Context>(Check(seal::ReadParams(Read("parms"), "parms")))),
        encoder_(context_) {}

  const ckks::Context& context() const { return *context_; }
  const ckks::Params& params() const { return context_->params(); }
  const ckks::Encoder& encoder() const { return encoder_; }
  std::vector<uint8_t> Read(const std::string& name) const {
    return Check(ReadFile(folder_ + "/" + name));
  }
  void Write(const std::string& name, ByteSpan bytes) const {
    Check(WriteFileAtomic(folder_ + "/" + name, bytes));
  }
  Ciphertext Load(const std::string& name) const {
    return Check(seal::ReadCiphertext(*context_, Read(name), name));
  }

 private:
  std::string folder_;
  std::shared_ptr<const ckks::Context> context_;
  ckks::Encoder encoder_;
};

ckks::EvaluationKeys LoadKeys(const Engine& engine) {
  const ckks::Context& context = engine.context();
  const size_t limbs = engine.params().limbs();
  ckks::EvaluationKeys keys;
  const ckks::FullSwitchKey relin = seal::CutKey(
      Check(seal::ReadRelinearisationKey(context, engine.Read("relin_keys"), "relin_keys")), limbs);
  keys.relinearisation = ckks::SwitchKey(context, relin.b, relin.a, 1);
  std::map<uint32_t, size_t> wanted;
  for (int64_t step : {1, 2, -1}) wanted[ckks::RotationElement(engine.params(), step)] = limbs;
  wanted[ckks::ConjugationElement(engine.params())] = limbs;
  const auto galois =
      Check(seal::ReadGaloisKeys(context, engine.Read("galois_keys"), wanted, "galois_keys"));
  for (const auto& [element, key] : galois) {
    keys.galois[element] = ckks::SwitchKey(context, key.b, key.a, element);
  }
  return keys;
}

void Compute(const Engine& engine) {
  const ckks::Context& ctx = engine.context();
  const ckks::EvaluationKeys keys = LoadKeys(engine);
  const Ciphertext a = engine.Load("a");
  const Ciphertext b = engine.Load("b");
  const Plaintext p = Check(seal::ReadPlaintext(ctx, engine.Read("p"), "p"));
  const std::vector<ckks::Complex> p_slots = engine.encoder().Decode(p);
  const std::vector<uint32_t> elements = {1, ckks::RotationElement(engine.params(), 1),
                                          ckks::RotationElement(engine.params(), 2)};
  Ciphertext ab, ap;
  Check(ckks::Multiply(ctx, &ab, a, b));
  Check(ckks::MultiplyPlain(ctx, &ap, a, p));

  using Operation = std::function<absl::Status(Ciphertext*)>;
  const std::map<std::string, Operation> operations = {
      {"add", [&](Ciphertext* out) { return ckks::Add(ctx, out, a, b); }},
      {"subtract", [&](Ciphertext* out) { return ckks::Subtract(ctx, out, a, b); }},
      {"add_plain", [&](Ciphertext* out) { return ckks::AddPlain(ctx, out, a, p); }},
      {"negate",
       [&](Ciphertext* out) {
         ckks::Negate(ctx, out, a);
         return absl::OkStatus();
       }},
      {"add_constant", [&](Ciphertext* out) { return ckks::AddConstant(ctx, out, a, 0.375); }},
      {"multiply_plain",
       [&](Ciphertext* out) {
         *out = ap;
         return absl::OkStatus();
       }},
      {"multiply",  // three parts
       [&](Ciphertext* out) {
         *out = ab;
         return absl::OkStatus();
       }},
      {"square", [&](Ciphertext* out) { return ckks::Square(ctx, out, a); }},
      {"multiply_integer",
       [&](Ciphertext* out) {
         ckks::MultiplyInteger(ctx, out, a, -3);
         return absl::OkStatus();
       }},
      {"multiply_by_monomial",  // twice: by -1
       [&](Ciphertext* out) {
         ckks::MultiplyByMonomial(ctx, out, a);
         ckks::MultiplyByMonomial(ctx, out, *out);
         return absl::OkStatus();
       }},
      {"rescale", [&](Ciphertext* out) { return ckks::Rescale(ctx, out, ap); }},
      {"drop_limbs", [&](Ciphertext* out) { return ckks::DropLimbs(ctx, out, a, 1); }},
      {"relinearise", [&](Ciphertext* out) { return ckks::Relinearise(ctx, out, ab, keys); }},
      {"relinearise_and_rescale",
       [&](Ciphertext* out) { return ckks::RelineariseAndRescale(ctx, out, ab, keys); }},
      {"relinearise_lower",  // (a b)^2, the second key switch one level below
       [&](Ciphertext* out) {
         HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(ctx, out, ab, keys));
         HEFT_RETURN_IF_ERROR(ckks::Square(ctx, out, *out));
         return ckks::Relinearise(ctx, out, *out, keys);
       }},
      {"rotate_left", [&](Ciphertext* out) { return ckks::Rotate(ctx, out, a, 2, keys); }},
      {"rotate_right", [&](Ciphertext* out) { return ckks::Rotate(ctx, out, a, -1, keys); }},
      {"conjugate",  // between two monomials: +a; without it they would make -a
       [&](Ciphertext* out) {
         ckks::MultiplyByMonomial(ctx, out, a);
         HEFT_RETURN_IF_ERROR(ckks::Conjugate(ctx, out, *out, keys));
         ckks::MultiplyByMonomial(ctx, out, *out);
         return absl::OkStatus();
       }},
      {"apply_galois",
       [&](Ciphertext* out) { return ckks::ApplyGalois(ctx, out, a, elements[1], keys); }},
      {"hoisted",  // rot(a, 1) + 2 rot(a, 2)
       [&](Ciphertext* out) {
         HEFT_ASSIGN_OR_RETURN(std::vector<Ciphertext> images,
                               ckks::ApplyGaloisHoisted(ctx, a, elements, keys));
         ckks::MultiplyInteger(ctx, &images[2], images[2], 2);
         return ckks::Add(ctx, out, images[1], images[2]);
       }},
      {"sum_galois", [&](Ciphertext* out) { return ckks::SumGalois(ctx, out, a, elements, keys); }},
      {"sum_galois_and_rescale",
       [&](Ciphertext* out) { return ckks::SumGaloisAndRescale(ctx, out, ap, elements, keys); }},
      {"sum_galois_products",  // p a + p rot(a, 1) + p rot(a, 2)
       [&](Ciphertext* out) {
         HEFT_ASSIGN_OR_RETURN(
             const Plaintext factor,
             engine.encoder().Encode(std::span(p_slots), p.scale, p.limbs(), /*extended=*/true));
         const std::vector<Plaintext> factors(elements.size(), factor);
         return ckks::SumGaloisProducts(ctx, out, a, elements, factors, keys);
       }},
      {"encrypt",  // p under SEAL's public key
       [&](Ciphertext* out) {
         HEFT_ASSIGN_OR_RETURN(const seal::KeyPart key,
                               seal::ReadPublicKey(ctx, engine.Read("public_key"), "public_key"));
         Csprng rng;
         *out = ckks::Encrypt(ctx, p, seal::ToPublicKey({}, key), rng);
         return absl::OkStatus();
       }},
  };
  size_t i = 0;
  for (const auto& [name, operation] : operations) {
    Ciphertext out;
    Check(operation(&out));
    const auto mode = static_cast<Compression>(i++ % 3);
    engine.Write("out." + name, seal::WriteCiphertext(ctx, out, mode));
    std::cout << name << "\n";
  }
}

void Make(const Engine& engine, const std::vector<int64_t>& steps) {
  const ckks::Context& ctx = engine.context();
  const auto text = engine.Read("inputs.json");
  const auto inputs = nlohmann::json::parse(text.begin(), text.end());
  Csprng rng;
  const ckks::SecretKey secret = Check(ckks::SecretKey::Generate(ctx, rng));
  engine.Write("secret_key", Check(seal::WriteSecretKey(ctx, secret)).span());
  const ckks::PublicKey public_key = ckks::MakePublicKey(ctx, secret, rng);
  engine.Write("public_key",
               seal::WritePublicKey(ctx, seal::FromPublicKey(public_key), Compression::kZlib));
  engine.Write(
      "public_key_seeded",
      seal::WritePublicKey(ctx, seal::MakeSeededPublicKey(ctx, secret, rng), Compression::kNone));
  const seal::KeyDigits relin = seal::MakeSeededRelinearisationKey(ctx, secret, rng);
  engine.Write("relin_keys", seal::WriteRelinearisationKey(ctx, relin, Compression::kZstd));
  std::map<uint32_t, seal::KeyDigits> galois;
  for (int64_t step : steps) {
    const uint32_t element = step == 0 ? ckks::ConjugationElement(engine.params())
                                       : ckks::RotationElement(engine.params(), step);
    galois[element] = seal::MakeSeededGaloisKey(ctx, secret, element, rng);
    if (galois.size() % 2 == 0) {  // one key with both halves in full beside seeded ones
      for (seal::KeyPart& part : galois[element]) part.seed.reset();
    }
  }
  engine.Write("galois_keys", seal::WriteGaloisKeys(ctx, galois, Compression::kNone));

  const double scale = inputs["scale"];
  size_t i = 0;
  for (const auto& [name, slots] : inputs["slots"].items()) {
    const auto values = slots.get<std::vector<double>>();
    const Plaintext plain = Check(
        engine.encoder().Encode(std::span<const double>(values), scale, engine.params().limbs()));
    const auto mode = static_cast<Compression>(i++ % 3);
    engine.Write(name + ".plain", Check(seal::WritePlaintext(ctx, plain, mode)));
    engine.Write(name,
                 seal::WriteCiphertext(ctx, ckks::Encrypt(ctx, plain, public_key, rng), mode));
    const seal::SeededEncryption seeded = seal::EncryptSeeded(ctx, plain, secret, rng);
    engine.Write(name + ".seeded",
                 seal::WriteCiphertext(ctx, seeded.ciphertext, mode, &seeded.seed));
  }
}

void PrintDecrypted(const Engine& engine, const std::vector<std::string>& names) {
  const ckks::SecretKey secret =
      Check(seal::ReadSecretKey(engine.context(), {}, engine.Read("secret_key"), "secret_key"));
  nlohmann::json out;
  for (const std::string& name : names) {
    const auto slots =
        engine.encoder().Decode(ckks::Decrypt(engine.context(), engine.Load(name), secret));
    for (const ckks::Complex& slot : slots) out[name].push_back(slot.real());
  }
  std::cout << out.dump() << "\n";
}

}  // namespace
}  // namespace heft

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 2) {
    std::cerr << "seal_engine: compute, make, decrypt or check, then a folder\n";
    return 2;
  }
  const heft::Engine engine(args[1]);
  const std::vector<std::string> rest(args.begin() + 2, args.end());
  if (args[0] == "compute") {
    heft::Compute(engine);
  } else if (args[0] == "make") {
    std::vector<int64_t> steps;
    for (const std::string& step : rest) steps.push_back(std::stoll(step));
    heft::Make(engine, steps);
  } else if (args[0] == "decrypt") {
    heft::PrintDecrypted(engine, rest);
  } else if (args[0] == "check") {
    for (const std::string& name : rest) engine.Load(name);
  } else {
    std::cerr << "seal_engine: no command " << args[0] << "\n";
    return 2;
  }
  return 0;
}
