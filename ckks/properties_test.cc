// SPDX-License-Identifier: Apache-2.0
// Properties that must hold whatever the parameters: each case draws degree, chain, level and scale
// from its number, and checks one law. A failure names the case; the draws are the same on every
// machine. Where two ways must agree up to rounding, the bound is that of the noise estimate.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "ckks/arithmetic.h"
#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "ckks/owner/secret_key.h"

namespace heft::ckks {
namespace {

using Slots = std::vector<Complex>;

// Everything that one case draws.
class World {
 public:
  explicit World(uint64_t number) : random_(number), rng_(SeedOf(number)) {
    ParamsSpec spec;
    spec.n = 1u << Draw(7, 11);
    spec.data_bits = {30};
    const int levels = Draw(2, 5);
    for (int i = 0; i < levels; ++i) spec.data_bits.push_back(Draw(20, 30));
    spec.special_bits = 30;
    spec.allow_insecure = true;
    auto params = Params::Create(spec);
    EXPECT_TRUE(params.ok()) << params.status();
    context_ = std::make_shared<Context>(*params);
    encoder_ = std::make_unique<Encoder>(context_);
    secret_ = std::make_unique<SecretKey>(std::move(*SecretKey::Generate(*context_, rng_)));
    limbs_ = Draw(2, static_cast<int>(params->limbs()));
    scale_bits_ = Draw(17, 24);
    keys_.relinearisation =
        SwitchKey(*context_, MakeRelinearisationKey(*context_, *secret_, limbs_, rng_), 1);
  }

  int Draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  const Context& context() const { return *context_; }
  size_t limbs() const { return limbs_; }
  double scale() const { return std::ldexp(1.0, scale_bits_); }
  int64_t DrawSteps() { return Draw(0, static_cast<int>(context_->slots()) - 1); }
  std::string Describe() const {
    return context_->params().Describe() + ", " + std::to_string(limbs_) + " limbs, scale 2^" +
           std::to_string(scale_bits_);
  }

  Slots DrawSlots() {
    std::uniform_real_distribution<double> uniform(-1, 1);
    Slots v(context_->slots());
    for (Complex& x : v) x = {uniform(random_), uniform(random_)};
    return v;
  }
  Plaintext Encode(const Slots& v, size_t limbs, bool extended = false) const {
    auto plain = encoder_->Encode(std::span<const Complex>(v), scale(), limbs, extended);
    EXPECT_TRUE(plain.ok()) << plain.status();
    return *plain;
  }
  Ciphertext Encrypt(const Slots& v) {
    const Plaintext plain = Encode(v, limbs_);
    if (Draw(0, 1) == 0) {
      return Expand(*context_, EncryptSymmetric(*context_, plain, *secret_, rng_));
    }
    return ckks::Encrypt(*context_, plain, MakePublicKey(*context_, *secret_, rng_), rng_);
  }
  const EvaluationKeys& Keys(std::initializer_list<uint32_t> elements) {
    for (uint32_t element : elements) {
      if (element == 1 || keys_.galois.contains(element)) continue;
      keys_.galois[element] =
          SwitchKey(*context_, MakeGaloisKey(*context_, *secret_, element, limbs_, rng_), element);
    }
    return keys_;
  }
  uint32_t Element(int64_t steps) const { return RotationElement(context_->params(), steps); }
  uint32_t Conjugation() const { return ConjugationElement(context_->params()); }

  Slots Open(const Ciphertext& c) const {
    return encoder_->Decode(Decrypt(*context_, c, *secret_));
  }
  // `c` must hold `expected`, within its own noise estimate.
  void ExpectHolds(const Ciphertext& c, const Slots& expected, const char* what) const {
    const absl::Status valid = CheckCiphertext(*context_, c);
    ASSERT_TRUE(valid.ok()) << what << ": " << valid;
    const Slots slots = Open(c);
    double worst = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      worst = std::max(worst, std::abs(slots[i] - expected[i]));
    }
    EXPECT_LE(worst, SlotErrorBound(context_->params(), c.noise, c.scale)) << what;
  }
  // Two ciphertexts of the same message and scale.
  void ExpectAgree(const Ciphertext& a, const Ciphertext& b, const char* what) const {
    ASSERT_EQ(a.limbs(), b.limbs()) << what;
    EXPECT_NEAR(a.scale / b.scale, 1, 1e-9) << what;
    Ciphertext difference;
    ASSERT_TRUE(Subtract(*context_, &difference, a, b).ok()) << what;
    ExpectHolds(difference, Slots(context_->slots(), 0), what);
  }

 private:
  static Seed SeedOf(uint64_t number) {
    Seed seed{};
    for (size_t i = 0; i < 8; ++i) seed[i] = static_cast<uint8_t>(number >> (8 * i));
    return seed;
  }

  std::mt19937_64 random_;
  Csprng rng_;
  std::shared_ptr<const Context> context_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<SecretKey> secret_;
  EvaluationKeys keys_;
  size_t limbs_ = 0;
  int scale_bits_ = 0;
};

void ForCases(int cases, const std::function<void(World&)>& law) {
  for (int number = 0; number < cases && !testing::Test::HasFailure(); ++number) {
    World world(number);
    SCOPED_TRACE("case " + std::to_string(number) + ": " + world.Describe());
    law(world);
  }
}

Slots Map(const Slots& a, const std::function<Complex(Complex)>& f) {
  Slots out;
  for (Complex x : a) out.push_back(f(x));
  return out;
}
Slots Map(const Slots& a, const Slots& b, const std::function<Complex(Complex, Complex)>& f) {
  Slots out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(f(a[i], b[i]));
  return out;
}
Slots Rotated(const Slots& a, int64_t steps) {
  Slots out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(a[(i + steps) % a.size()]);
  return out;
}

TEST(PropertiesTest, SumsAreHomomorphic) {
  ForCases(48, [](World& w) {
    const Slots a = w.DrawSlots(), b = w.DrawSlots();
    const Ciphertext ca = w.Encrypt(a), cb = w.Encrypt(b);
    const Slots sum = Map(a, b, std::plus<Complex>());
    Ciphertext c;
    ASSERT_TRUE(Add(w.context(), &c, ca, cb).ok());
    w.ExpectHolds(c, sum, "add");
    ASSERT_TRUE(AddPlain(w.context(), &c, ca, w.Encode(b, w.limbs())).ok());
    w.ExpectHolds(c, sum, "add plain");
    ASSERT_TRUE(Subtract(w.context(), &c, ca, cb).ok());
    w.ExpectHolds(c, Map(a, b, std::minus<Complex>()), "subtract");
    Negate(w.context(), &c, ca);
    w.ExpectHolds(c, Map(a, std::negate<Complex>()), "negate");
    const double constant = w.Draw(-1000, 1000) / 500.0;
    ASSERT_TRUE(AddConstant(w.context(), &c, ca, constant).ok());
    w.ExpectHolds(c, Map(a, [&](Complex x) { return x + constant; }), "add constant");
    const int factor = w.Draw(-9, 9);
    MultiplyInteger(w.context(), &c, ca, factor);
    w.ExpectHolds(c, Map(a, [&](Complex x) { return x * double(factor); }), "multiply integer");
    MultiplyByMonomial(w.context(), &c, ca);
    MultiplyByMonomial(w.context(), &c, c);
    w.ExpectHolds(c, Map(a, std::negate<Complex>()), "X^(n/2) twice is -1");
  });
}

TEST(PropertiesTest, ProductsAreHomomorphic) {
  ForCases(48, [](World& w) {
    const Slots a = w.DrawSlots(), b = w.DrawSlots();
    const Ciphertext ca = w.Encrypt(a), cb = w.Encrypt(b);
    const Slots product = Map(a, b, std::multiplies<Complex>());
    Ciphertext c, rescaled;
    ASSERT_TRUE(MultiplyPlain(w.context(), &c, ca, w.Encode(b, w.limbs())).ok());
    w.ExpectHolds(c, product, "multiply plain");
    ASSERT_TRUE(Multiply(w.context(), &c, ca, cb).ok());
    w.ExpectHolds(c, product, "multiply");
    const EvaluationKeys& keys = w.Keys({});
    Ciphertext together;
    ASSERT_TRUE(RelineariseAndRescale(w.context(), &together, c, keys).ok());
    ASSERT_TRUE(Relinearise(w.context(), &c, c, keys).ok());
    w.ExpectHolds(c, product, "relinearise");
    ASSERT_TRUE(Rescale(w.context(), &rescaled, c).ok());
    w.ExpectHolds(rescaled, product, "rescale");
    w.ExpectHolds(together, product, "relinearise and rescale");
    w.ExpectAgree(together, rescaled, "at once or one after the other");
    ASSERT_TRUE(Square(w.context(), &c, ca).ok());
    w.ExpectHolds(c, Map(a, a, std::multiplies<Complex>()), "square");
  });
}

TEST(PropertiesTest, MultiplicationDistributesOverAddition) {
  ForCases(32, [](World& w) {
    const Ciphertext a = w.Encrypt(w.DrawSlots()), b = w.Encrypt(w.DrawSlots()),
                     c = w.Encrypt(w.DrawSlots());
    Ciphertext sum, left, ac, bc, right;
    ASSERT_TRUE(Add(w.context(), &sum, a, b).ok());
    ASSERT_TRUE(Multiply(w.context(), &left, sum, c).ok());
    ASSERT_TRUE(Multiply(w.context(), &ac, a, c).ok());
    ASSERT_TRUE(Multiply(w.context(), &bc, b, c).ok());
    ASSERT_TRUE(Add(w.context(), &right, ac, bc).ok());
    // Exactly: nothing is rounded.
    for (size_t p = 0; p < 3; ++p) {
      EXPECT_TRUE(std::equal(left.parts[p].values().begin(), left.parts[p].values().end(),
                             right.parts[p].values().begin()));
    }
  });
}

TEST(PropertiesTest, LevelsMayBeDroppedBeforeOrAfter) {
  ForCases(32, [](World& w) {
    const Ciphertext a = w.Encrypt(w.DrawSlots()), b = w.Encrypt(w.DrawSlots());
    const size_t low = w.Draw(1, static_cast<int>(w.limbs()));
    Ciphertext before, low_a, low_b, after;
    ASSERT_TRUE(DropLimbs(w.context(), &low_a, a, low).ok());
    ASSERT_TRUE(DropLimbs(w.context(), &low_b, b, low).ok());
    ASSERT_TRUE(Add(w.context(), &before, low_a, low_b).ok());
    ASSERT_TRUE(Add(w.context(), &after, a, b).ok());
    ASSERT_TRUE(DropLimbs(w.context(), &after, after, low).ok());
    for (size_t p = 0; p < 2; ++p) {
      EXPECT_TRUE(std::equal(before.parts[p].values().begin(), before.parts[p].values().end(),
                             after.parts[p].values().begin()));
    }
  });
}

TEST(PropertiesTest, RotationsAreAGroup) {
  ForCases(48, [](World& w) {
    const Params& params = w.context().params();
    const uint64_t order = 2 * uint64_t{params.n()};
    const auto slots = static_cast<int64_t>(params.slots());
    const int64_t i = w.DrawSteps(), j = w.DrawSteps();
    // Of elements: composition is multiplication, a full turn is the identity, left undoes right.
    EXPECT_EQ(uint64_t{w.Element(i)} * w.Element(j) % order, w.Element(i + j));
    EXPECT_EQ(w.Element(i + slots), w.Element(i));
    EXPECT_EQ(uint64_t{w.Element(i)} * w.Element(-i) % order, 1u);
    EXPECT_EQ(uint64_t{w.Conjugation()} * w.Conjugation() % order, 1u);
    // Of ciphertexts.
    const Slots a = w.DrawSlots();
    const Ciphertext ca = w.Encrypt(a);
    const EvaluationKeys& keys =
        w.Keys({w.Element(i), w.Element(j), w.Element(i + j), w.Element(-i), w.Conjugation()});
    Ciphertext once, twice, other;
    ASSERT_TRUE(Rotate(w.context(), &once, ca, i, keys).ok());
    w.ExpectHolds(once, Rotated(a, i), "rotation");
    ASSERT_TRUE(Rotate(w.context(), &twice, once, j, keys).ok());
    w.ExpectHolds(twice, Rotated(a, (i + j) % slots), "rotation of a rotation");
    ASSERT_TRUE(Rotate(w.context(), &other, ca, i + j, keys).ok());
    w.ExpectAgree(twice, other, "i then j is i + j");
    ASSERT_TRUE(Rotate(w.context(), &other, once, -i, keys).ok());
    w.ExpectHolds(other, a, "there and back");
    ASSERT_TRUE(Rotate(w.context(), &other, ca, slots, keys).ok());
    EXPECT_TRUE(std::equal(other.parts[1].values().begin(), other.parts[1].values().end(),
                           ca.parts[1].values().begin()))
        << "a full turn changes nothing and needs no key";
    // Conjugation commutes with rotations, and is its own inverse.
    ASSERT_TRUE(Conjugate(w.context(), &other, once, keys).ok());
    ASSERT_TRUE(Conjugate(w.context(), &twice, ca, keys).ok());
    ASSERT_TRUE(Rotate(w.context(), &twice, twice, i, keys).ok());
    w.ExpectAgree(other, twice, "conjugation commutes");
    ASSERT_TRUE(Conjugate(w.context(), &other, other, keys).ok());
    w.ExpectHolds(other, Rotated(a, i), "conjugation twice");
  });
}

TEST(PropertiesTest, HoistedEqualsPlain) {
  ForCases(40, [](World& w) {
    const Ciphertext a = w.Encrypt(w.DrawSlots());
    // Different elements: a sum may hold the identity only once.
    std::map<uint32_t, int> drawn = {{1, 0}, {w.Conjugation(), 0}};
    for (int k = w.Draw(1, 6); k > 0; --k) drawn[w.Element(w.DrawSteps())] = 0;
    std::vector<uint32_t> elements;
    for (const auto& [element, unused] : drawn) {
      elements.push_back(element);
      w.Keys({element});
    }
    const EvaluationKeys& keys = w.Keys({});
    const auto hoisted = ApplyGaloisHoisted(w.context(), a, elements, keys);
    ASSERT_TRUE(hoisted.ok()) << hoisted.status();
    Ciphertext plain_sum, weighted_sum;
    std::vector<Plaintext> factors;
    for (size_t k = 0; k < elements.size(); ++k) {
      Ciphertext image, term;
      ASSERT_TRUE(ApplyGalois(w.context(), &image, a, elements[k], keys).ok());
      for (size_t p = 0; p < 2; ++p) {
        EXPECT_TRUE(std::equal(image.parts[p].values().begin(), image.parts[p].values().end(),
                               (*hoisted)[k].parts[p].values().begin()))
            << "element " << elements[k] << ": to the bit";
      }
      const Slots factor = w.DrawSlots();
      factors.push_back(w.Encode(factor, w.limbs(), /*extended=*/true));
      ASSERT_TRUE(MultiplyPlain(w.context(), &term, image, w.Encode(factor, w.limbs())).ok());
      if (k == 0) {
        plain_sum = image;
        weighted_sum = term;
        continue;
      }
      ASSERT_TRUE(Add(w.context(), &plain_sum, plain_sum, image).ok());
      ASSERT_TRUE(Add(w.context(), &weighted_sum, weighted_sum, term).ok());
    }
    Ciphertext sum, rescaled;
    ASSERT_TRUE(SumGalois(w.context(), &sum, a, elements, keys).ok());
    w.ExpectAgree(sum, plain_sum, "sum of rotations");
    ASSERT_TRUE(SumGaloisProducts(w.context(), &sum, a, elements, factors, keys).ok());
    w.ExpectAgree(sum, weighted_sum, "weighted sum of rotations");
    ASSERT_TRUE(SumGaloisAndRescale(w.context(), &sum, a, elements, keys).ok());
    ASSERT_TRUE(Rescale(w.context(), &rescaled, plain_sum).ok());
    w.ExpectAgree(sum, rescaled, "sum and rescale");
  });
}

// ---- An operation that fails changes neither its operands nor its result.

struct Copy {
  Ciphertext value;
  explicit Copy(const Ciphertext& c) : value(c) {}
  void ExpectUnchanged(const Ciphertext& now, const char* what) const {
    ASSERT_EQ(now.size(), value.size()) << what;
    EXPECT_EQ(now.scale, value.scale) << what;
    EXPECT_EQ(now.noise.message, value.noise.message) << what;
    EXPECT_EQ(now.noise.error, value.noise.error) << what;
    for (size_t p = 0; p < now.size(); ++p) {
      ASSERT_EQ(now.parts[p].limbs(), value.parts[p].limbs()) << what;
      EXPECT_TRUE(std::equal(now.parts[p].values().begin(), now.parts[p].values().end(),
                             value.parts[p].values().begin()))
          << what;
    }
  }
};

class FailuresTest : public testing::Test {
 protected:
  FailuresTest() : world_(3), a_(world_.Encrypt(world_.DrawSlots())) {
    const Context& context = world_.context();
    EXPECT_TRUE(DropLimbs(context, &low_, a_, 1).ok());
    EXPECT_TRUE(Multiply(context, &three_, a_, a_).ok());
    other_scale_ = a_;
    other_scale_.scale *= 2;
  }

  // `op(out, in)` must fail: into another ciphertext, and in place.
  void Fails(const char* what, const Ciphertext& in,
             const std::function<absl::Status(Ciphertext*, const Ciphertext&)>& op) {
    const Copy before(in), out_before(a_);
    Ciphertext out = a_;
    EXPECT_FALSE(op(&out, in).ok()) << what;
    out_before.ExpectUnchanged(out, what);
    before.ExpectUnchanged(in, what);
    Ciphertext in_place = in;
    EXPECT_FALSE(op(&in_place, in_place).ok()) << what;
    before.ExpectUnchanged(in_place, what);
  }

  World world_;
  Ciphertext a_, low_, three_, other_scale_;
};

TEST_F(FailuresTest, ArithmeticLeavesOperandsAndResultAlone) {
  const Context& context = world_.context();
  for (const Ciphertext* in : {&low_, &other_scale_}) {
    const Copy b(a_);
    Fails("add", *in,
          [&](Ciphertext* out, const Ciphertext& x) { return Add(context, out, x, a_); });
    Fails("add, operands exchanged", *in,
          [&](Ciphertext* out, const Ciphertext& x) { return Add(context, out, a_, x); });
    Fails("subtract", *in,
          [&](Ciphertext* out, const Ciphertext& x) { return Subtract(context, out, x, a_); });
    Fails("add plain", *in, [&](Ciphertext* out, const Ciphertext& x) {
      return AddPlain(context, out, x, world_.Encode(world_.DrawSlots(), world_.limbs()));
    });
    b.ExpectUnchanged(a_, "the other operand");
  }
  Fails("add constant", low_,
        [&](Ciphertext* out, const Ciphertext& x) { return AddConstant(context, out, x, 1e300); });
  Fails("multiply plain, other level", low_, [&](Ciphertext* out, const Ciphertext& x) {
    return MultiplyPlain(context, out, x, world_.Encode(world_.DrawSlots(), world_.limbs()));
  });
  Fails("multiply, other level", low_,
        [&](Ciphertext* out, const Ciphertext& x) { return Multiply(context, out, x, a_); });
  Fails("multiply, three parts", three_,
        [&](Ciphertext* out, const Ciphertext& x) { return Multiply(context, out, x, x); });
  Fails("square, three parts", three_,
        [&](Ciphertext* out, const Ciphertext& x) { return Square(context, out, x); });
  Ciphertext large = low_;
  large.scale = 0x1p29;
  Fails("multiply plain, scale over the modulus", large, [&](Ciphertext* out, const Ciphertext& x) {
    return MultiplyPlain(context, out, x, world_.Encode(world_.DrawSlots(), 1));
  });
  Fails("square, scale over the modulus", large,
        [&](Ciphertext* out, const Ciphertext& x) { return Square(context, out, x); });
  Fails("rescale", low_,
        [&](Ciphertext* out, const Ciphertext& x) { return Rescale(context, out, x); });
  for (const size_t limbs : {size_t{0}, size_t{2}}) {
    Fails("drop limbs", low_,
          [&](Ciphertext* out, const Ciphertext& x) { return DropLimbs(context, out, x, limbs); });
  }
}

TEST_F(FailuresTest, KeySwitchesLeaveOperandsAndResultAlone) {
  const Context& context = world_.context();
  const EvaluationKeys none;
  EvaluationKeys keys = world_.Keys({world_.Element(1)});
  const std::vector<uint32_t> elements = {world_.Element(1)};
  const std::vector<uint32_t> missing = {world_.Element(1), world_.Element(2)};
  const std::vector<Plaintext> factor = {
      world_.Encode(world_.DrawSlots(), world_.limbs(), /*extended=*/true)};
  using Op = std::function<absl::Status(Ciphertext*, const Ciphertext&)>;
  const std::map<std::string, std::pair<const Ciphertext*, Op>> cases = {
      {"relinearise without a key",
       {&three_, [&](auto* out, auto& x) { return Relinearise(context, out, x, none); }}},
      {"relinearise and rescale without a key",
       {&three_, [&](auto* out, auto& x) { return RelineariseAndRescale(context, out, x, none); }}},
      {"rotate without a key",
       {&a_, [&](auto* out, auto& x) { return Rotate(context, out, x, 1, none); }}},
      {"conjugate without a key",
       {&a_, [&](auto* out, auto& x) { return Conjugate(context, out, x, keys); }}},
      {"rotate three parts",
       {&three_, [&](auto* out, auto& x) { return Rotate(context, out, x, 1, keys); }}},
      {"sum without one of the keys",
       {&a_, [&](auto* out, auto& x) { return SumGalois(context, out, x, missing, keys); }}},
      {"sum of three parts",
       {&three_, [&](auto* out, auto& x) { return SumGalois(context, out, x, elements, keys); }}},
      {"sum and rescale at the last level",
       {&low_,
        [&](auto* out, auto& x) { return SumGaloisAndRescale(context, out, x, elements, keys); }}},
      {"products of another level",
       {&low_,
        [&](auto* out, auto& x) {
          return SumGaloisProducts(context, out, x, elements, factor, keys);
        }}},
      {"products without a factor each",
       {&a_, [&](auto* out,
                 auto& x) { return SumGaloisProducts(context, out, x, missing, factor, keys); }}},
  };
  for (const auto& [what, one] : cases) Fails(what.c_str(), *one.first, one.second);
  const Copy before(a_);
  EXPECT_FALSE(ApplyGaloisHoisted(context, a_, missing, keys).ok());
  before.ExpectUnchanged(a_, "hoisted without one of the keys");
}

}  // namespace
}  // namespace heft::ckks
