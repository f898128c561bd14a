// SPDX-License-Identifier: Apache-2.0
// Properties that must hold for all parameters: each case draws degree, chain, level and scale from
// its number, and checks one law. A failure names the case; the draws are the same on every
// machine. If two computations must agree up to rounding, the bound is that of the noise estimate.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "ckks/owner/testing.h"

namespace heft::ckks {
namespace {

using Slots = std::vector<Complex>;

void ForCases(int cases, const std::function<void(testing::World&)>& law) {
  for (int number = 0; number < cases && !::testing::Test::HasFailure(); ++number) {
    testing::World world(number);
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
  ForCases(48, [](testing::World& w) {
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
  ForCases(48, [](testing::World& w) {
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

TEST(PropertiesTest, ProductsAreRotatedAndSummed) {
  ForCases(24, [](testing::World& w) {
    const uint32_t one = w.Element(w.DrawSteps()), other = w.Conjugation();
    const std::vector<uint32_t> elements = {1, one, other, 1};
    const EvaluationKeys& keys = w.Keys({one, other});
    std::vector<Ciphertext> products(elements.size());
    Ciphertext expected;
    for (size_t j = 0; j < elements.size(); ++j) {
      const Ciphertext a = w.Encrypt(w.DrawSlots()), b = w.Encrypt(w.DrawSlots());
      ASSERT_TRUE(Multiply(w.context(), &products[j], a, b).ok());
      Ciphertext image;
      ASSERT_TRUE(Relinearise(w.context(), &image, products[j], keys).ok());
      ASSERT_TRUE(ApplyGalois(w.context(), &image, image, elements[j], keys).ok());
      if (j == 0) {
        expected = image;
      } else {
        ASSERT_TRUE(Add(w.context(), &expected, expected, image).ok());
      }
    }
    ASSERT_TRUE(Rescale(w.context(), &expected, expected).ok());
    Ciphertext sum;
    ASSERT_TRUE(SumImagesAndRescale(w.context(), &sum, products, elements, keys).ok());
    w.ExpectAgree(sum, expected, "at once or one after the other");
    w.ExpectHolds(sum, w.Open(expected), "a sum of rotated products");
  });
}

TEST(PropertiesTest, MultiplicationDistributesOverAddition) {
  ForCases(32, [](testing::World& w) {
    const Ciphertext a = w.Encrypt(w.DrawSlots()), b = w.Encrypt(w.DrawSlots()),
                     c = w.Encrypt(w.DrawSlots());
    Ciphertext sum, left, ac, bc, right;
    ASSERT_TRUE(Add(w.context(), &sum, a, b).ok());
    ASSERT_TRUE(Multiply(w.context(), &left, sum, c).ok());
    ASSERT_TRUE(Multiply(w.context(), &ac, a, c).ok());
    ASSERT_TRUE(Multiply(w.context(), &bc, b, c).ok());
    ASSERT_TRUE(Add(w.context(), &right, ac, bc).ok());
    // Exactly, because nothing is rounded.
    for (size_t p = 0; p < 3; ++p) {
      EXPECT_TRUE(std::equal(left.parts[p].values().begin(), left.parts[p].values().end(),
                             right.parts[p].values().begin()));
    }
  });
}

TEST(PropertiesTest, LevelsMayBeDroppedBeforeOrAfter) {
  ForCases(32, [](testing::World& w) {
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
  ForCases(48, [](testing::World& w) {
    const Params& params = w.context().params();
    const uint64_t order = 2 * uint64_t{params.n()};
    const auto slots = static_cast<int64_t>(params.slots());
    const int64_t i = w.DrawSteps(), j = w.DrawSteps();
    // For elements: composition is multiplication, a full turn is the identity, left undoes right.
    EXPECT_EQ(uint64_t{w.Element(i)} * w.Element(j) % order, w.Element(i + j));
    EXPECT_EQ(w.Element(i + slots), w.Element(i));
    EXPECT_EQ(uint64_t{w.Element(i)} * w.Element(-i) % order, 1u);
    EXPECT_EQ(uint64_t{w.Conjugation()} * w.Conjugation() % order, 1u);
    // For ciphertexts.
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
  ForCases(40, [](testing::World& w) {
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

}  // namespace
}  // namespace heft::ckks
