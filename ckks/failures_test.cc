// SPDX-License-Identifier: Apache-2.0
// A failing operation changes neither its operands nor its result.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "ckks/owner/testing.h"

namespace heft::ckks {
namespace {

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

class FailuresTest : public ::testing::Test {
 protected:
  FailuresTest() : world_(3), a_(world_.Encrypt(world_.DrawSlots())) {
    const Context& context = world_.context();
    EXPECT_TRUE(DropLimbs(context, &low_, a_, 1).ok());
    EXPECT_TRUE(Multiply(context, &three_, a_, a_).ok());
    other_scale_ = a_;
    other_scale_.scale *= 2;
  }

  // `op(out, in)` must fail with another ciphertext as `out`, and in place.
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

  testing::World world_;
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
      {"sum of images without a key",
       {&three_,
        [&](auto* out, auto& x) {
          return SumImagesAndRescale(context, out, {&x, 1}, {elements}, none);
        }}},
      {"sum of more images than automorphisms",
       {&three_,
        [&](auto* out, auto& x) {
          return SumImagesAndRescale(context, out, {&x, 1}, {}, keys);
        }}},
      {"sum of images of two parts",
       {&a_,
        [&](auto* out, auto& x) {
          return SumImagesAndRescale(context, out, {&x, 1}, {elements}, keys);
        }}},
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
