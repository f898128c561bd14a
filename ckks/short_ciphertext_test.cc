// SPDX-License-Identifier: Apache-2.0
#include "ckks/short_ciphertext.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "base/testing.h"
#include "ckks/encoder.h"
#include "ckks/owner/secret_key.h"
#include "ckks/packed_bits.h"

namespace heft::ckks {
namespace {

class ShortCiphertextTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    ParamsSpec spec;
    spec.n = GetParam();
    spec.data_bits = {27, 26};
    spec.special_bits = 28;
    spec.allow_insecure = true;
    context_ = std::make_shared<Context>(*Params::Create(spec));
    encoder_ = std::make_unique<Encoder>(context_);
    secret_ = std::make_unique<SecretKey>(std::move(*SecretKey::Generate(*context_, rng_)));
  }
  uint64_t q() const { return context_->modulus(0).value(); }
  // Two parts of uniform coefficients, which are also written to `coefficients`.
  Ciphertext Uniform(std::vector<std::vector<uint32_t>>* coefficients) {
    Ciphertext out;
    out.scale = 0x1p20;
    out.noise = {1, 100};
    coefficients->assign(2, std::vector<uint32_t>(context_->n()));
    for (std::vector<uint32_t>& part : *coefficients) {
      for (uint32_t& v : part) v = static_cast<uint32_t>(random_() % q());
      // The ends of the range and both sides of its middle.
      part[0] = 0;
      part[1] = static_cast<uint32_t>(q() - 1);
      part[2] = static_cast<uint32_t>(q() / 2);
      part[3] = static_cast<uint32_t>(q() / 2 + 1);
      out.parts.emplace_back(context_->n(), 1);
      std::ranges::copy(part, out.parts.back().limb(0).begin());
      context_->ntt(0).Forward(out.parts.back().limb(0));
    }
    return out;
  }
  // The coefficients of part p in `shortened`.
  std::vector<uint32_t> Unpacked(const ShortCiphertext& shortened, int p) const {
    const ShortForm& form = shortened.form;
    const int bits = form.bits - (p == 0 ? form.dropped : 0);
    const size_t at = p == 0 ? 0 : PackedSize(context_->n(), form.bits - form.dropped);
    std::vector<uint32_t> out(context_->n());
    UnpackBits(ByteSpan(shortened.packed).subspan(at), bits, out);
    return out;
  }

  TestCsprng rng_{Seed{3}};
  std::mt19937_64 random_{5};
  std::shared_ptr<Context> context_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<SecretKey> secret_;
};

constexpr ShortForm kForms[] = {{22, 5, 4}, {23, 7, 3},  {19, 2, 0},
                                {20, 0, 3}, {26, 25, 0}, {1, 0, 0}};

// Known answers: the quotients of plain integers, by long division.
TEST_P(ShortCiphertextTest, RoundsAsPlainIntegersDo) {
  std::vector<std::vector<uint32_t>> coefficients;
  const Ciphertext c = Uniform(&coefficients);
  for (const ShortForm& form : kForms) {
    const auto shortened = Shorten(*context_, c, form);
    ASSERT_TRUE(shortened.ok()) << shortened.status();
    EXPECT_EQ(shortened->packed.size(), ShortSize(*context_, form));
    EXPECT_EQ(shortened->scale, c.scale * (1 << form.raised));
    for (int p = 0; p < 2; ++p) {
      const int bits = form.bits - (p == 0 ? form.dropped : 0);
      const std::vector<uint32_t> got = Unpacked(*shortened, p);
      for (size_t i = 0; i < got.size(); ++i) {
        // 2 v 2^shift = q (2 whole + rest), so adding half a q rounds.
        const uint64_t twice = uint64_t{coefficients[p][i]} << (bits + form.raised + 1);
        const uint64_t rounded = (twice / q() + 1) / 2;
        ASSERT_EQ(got[i], rounded % (uint64_t{1} << bits)) << "part " << p << ", " << i;
      }
    }
  }
}

// Known answer: decryption modulo a power of two, in plain integers.
TEST_P(ShortCiphertextTest, OpensAsPlainIntegersDo) {
  std::vector<std::vector<uint32_t>> unused;
  const size_t n = context_->n();
  const Ciphertext c = Uniform(&unused);
  const std::span<const int8_t> s = secret_->coefficients();
  size_t weight = 0;
  for (int8_t v : s) weight += v != 0 ? 1 : 0;
  const ShortForm form{20, 3, 2};
  const ShortCiphertext shortened = *Shorten(*context_, c, form);
  const std::vector<uint32_t> c0 = Unpacked(shortened, 0), c1 = Unpacked(shortened, 1);
  const Plaintext opened = Decrypt(*context_, Lengthen(*context_, shortened), *secret_);
  const std::vector<double> got = CentredCoefficients(*context_, opened);
  for (size_t i = 0; i < n; i += n / 64) {
    int64_t sum = int64_t{c0[i]} << form.dropped;
    for (size_t j = 0; j < n; ++j) {
      const int64_t term = int64_t{c1[j]} * s[(i + n - j) % n];
      sum += j <= i ? term : -term;  // X^n is -1
    }
    // Times q / 2^bits: the same class modulo q up to the rounding to integers.
    const double expected = std::ldexp(static_cast<double>(sum), -form.bits) * q();
    const double difference = std::remainder(got[i] - expected, static_cast<double>(q()));
    ASSERT_LE(std::abs(difference), 0.5 * (1 + weight) + 1e-3) << i;
  }
}

// The estimate bounds the measured error within a factor of 8.
TEST_P(ShortCiphertextTest, ErrorIsAsPredicted) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Complex> slots(context_->slots());
  for (Complex& v : slots) v = {uniform(random_), uniform(random_)};
  for (const ShortForm& form :
       {ShortForm{22, 5, 4}, ShortForm{23, 7, 3}, ShortForm{21, 5, 2}, ShortForm{20, 0, 3},
        ShortForm{19, 2, 0}, ShortForm{22, 12, 1}, ShortForm{26, 0, 0}}) {
    // The largest coefficient uses a quarter of the range.
    const double scale = std::ldexp(q() / 8.0, -form.raised);
    const Plaintext plain = *encoder_->Encode(std::span<const Complex>(slots), scale, 1);
    const auto shortened = Shorten(
        *context_, Expand(*context_, EncryptSymmetric(*context_, plain, *secret_, rng_)), form);
    ASSERT_TRUE(shortened.ok()) << shortened.status();
    const Ciphertext back = Lengthen(*context_, *shortened);
    const auto opened = encoder_->Decode(Decrypt(*context_, back, *secret_));
    double squares = 0;
    for (size_t j = 0; j < slots.size(); ++j) squares += std::norm(opened[j] - slots[j]);
    const double measured = std::sqrt(squares / static_cast<double>(slots.size())) * back.scale;
    // With few coefficients and a product with the secret, the root mean square varies.
    EXPECT_LE(measured, 1.25 * back.noise.error) << form.bits << " " << form.dropped;
    EXPECT_LE(back.noise.error, 8 * measured) << form.bits << " " << form.dropped;
  }
}

// Lengthening and shortening again gives the same bits.
TEST_P(ShortCiphertextTest, LengthenedComesBack) {
  std::vector<std::vector<uint32_t>> unused;
  const Ciphertext c = Uniform(&unused);
  for (const ShortForm& form : kForms) {
    const ShortCiphertext once = *Shorten(*context_, c, form);
    ShortForm again = form;
    again.raised = 0;
    EXPECT_EQ(Shorten(*context_, Lengthen(*context_, once), again)->packed, once.packed);
  }
}

TEST_P(ShortCiphertextTest, WrittenAndRead) {
  std::vector<std::vector<uint32_t>> unused;
  const ShortCiphertext written = *Shorten(*context_, Uniform(&unused), kForms[0]);
  ByteWriter writer;
  WriteShortCiphertext(writer, written);
  const std::vector<uint8_t> bytes = writer.bytes();
  EXPECT_EQ(bytes.size(), 3 + 3 * sizeof(double) + ShortSize(*context_, kForms[0]));
  auto read = [&](ByteSpan from, ShortCiphertext* out) {
    ByteReader reader(from, "short");
    *out = ReadShortCiphertext(reader, *context_);
    return reader.Finish();
  };
  ShortCiphertext back;
  ASSERT_TRUE(read(bytes, &back).ok());
  EXPECT_EQ(back.form, written.form);
  EXPECT_EQ(back.scale, written.scale);
  EXPECT_EQ(back.noise.error, written.noise.error);
  EXPECT_EQ(back.packed, written.packed);
  EXPECT_FALSE(read(ByteSpan(bytes).first(bytes.size() - 1), &back).ok());
  // Invalid forms: no bits, all dropped, more than the prime has.
  const uint8_t bad[][3] = {{0, 0, 0}, {22, 22, 4}, {22, 5, 5}, {27, 0, 0}, {255, 5, 255}};
  for (const auto& form : bad) {
    std::vector<uint8_t> changed = bytes;
    std::copy(std::begin(form), std::end(form), changed.begin());
    EXPECT_FALSE(read(changed, &back).ok()) << int{form[0]};
  }
}

TEST_P(ShortCiphertextTest, OthersAreRefused) {
  std::vector<std::vector<uint32_t>> unused;
  Ciphertext c = Uniform(&unused);
  EXPECT_FALSE(Shorten(*context_, c, {22, 5, 5}).ok());
  EXPECT_FALSE(Shorten(*context_, c, {22, -1, 0}).ok());
  EXPECT_FALSE(Shorten(*context_, c, {22, 5, -1}).ok());
  EXPECT_FALSE(Shorten(*context_, c, {0, 0, 0}).ok());
  Ciphertext long_one = c;
  for (ring::RnsPoly& part : long_one.parts) part = ring::RnsPoly(context_->n(), 2);
  EXPECT_FALSE(Shorten(*context_, long_one, kForms[0]).ok());
  c.parts.push_back(c.parts[1]);
  EXPECT_FALSE(Shorten(*context_, c, kForms[0]).ok());
}

INSTANTIATE_TEST_SUITE_P(Degrees, ShortCiphertextTest, ::testing::Values(256u, 4096u));

}  // namespace
}  // namespace heft::ckks
