// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/secret_key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ring/sampling.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

TEST(SecretKeyFileTest, WithAndWithoutPassphrase) {
  const ckks::Context context(*ckks::Params::Create({.n = 4096, .data_bits = {30, 26, 20}}));
  Csprng rng;
  const ckks::SecretKey secret = *ckks::SecretKey::Generate(context, rng);
  const std::vector<uint8_t> clear = *SerializeSecretKey(context, secret, {});
  EXPECT_FALSE(*SecretKeyIsSealed(clear, "key"));
  auto back = ParseSecretKey(context, clear, {}, "key");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(std::equal(back->coefficients().begin(), back->coefficients().end(),
                         secret.coefficients().begin()));
  const std::string passphrase = "correct horse battery staple", wrong = "Tr0ub4dor&3";
  const std::vector<uint8_t> sealed = *SerializeSecretKey(context, secret, passphrase);
  EXPECT_TRUE(*SecretKeyIsSealed(sealed, "key"));
  EXPECT_TRUE(ParseSecretKey(context, sealed, passphrase, "key").ok());
  EXPECT_EQ(ParseSecretKey(context, sealed, wrong, "key").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseSecretKey(context, sealed, {}, "key").status().code(),
            absl::StatusCode::kFailedPrecondition);
  // The sealed file contains no run of the unencrypted coefficients.
  const std::string needle(reinterpret_cast<const char*>(secret.coefficients().data()), 32);
  const std::string haystack(sealed.begin(), sealed.end());
  EXPECT_EQ(haystack.find(needle), std::string::npos);
}

// Weak: ternary secrets that are not uniform, by name.
std::map<std::string, std::vector<int8_t>> Weak(size_t n) {
  std::map<std::string, std::vector<int8_t>> weak;
  weak["zero"].assign(n, 0);
  weak["one"].assign(n, 0);
  weak["one"][n / 3] = 1;
  weak["all one"].assign(n, 1);
  for (const char* name : {"sparse", "dense", "of one sign"}) weak[name].resize(n);
  for (size_t i = 0; i < n; ++i) {
    const auto sign = static_cast<int8_t>(i % 4 < 2 ? 1 : -1);
    weak["sparse"][i] = i % 64 == 0 ? static_cast<int8_t>(i % 128 == 0 ? 1 : -1) : int8_t{0};
    weak["dense"][i] = sign;
    weak["of one sign"][i] = i % 3 == 0 ? int8_t{0} : int8_t{1};
  }
  return weak;
}

TEST(SecretKeyFileTest, WeakSecretsAreRefused) {
  const ckks::Context context(*ckks::Params::Create({.n = 4096, .data_bits = {30, 26, 20}}));
  for (const auto& [name, coefficients] : Weak(context.n())) {
    const auto weak = ckks::SecretKey::FromCoefficients(context, {}, coefficients);
    ASSERT_TRUE(weak.ok()) << weak.status();
    for (const std::string passphrase : {"", "correct horse"}) {
      const auto bytes = SerializeSecretKey(context, *weak, passphrase);
      const auto parsed = ParseSecretKey(context, *bytes, passphrase, "the key");
      EXPECT_EQ(parsed.status().code(), absl::StatusCode::kDataLoss) << name;
      EXPECT_THAT(
          std::string(parsed.status().message()),
          ::testing::AllOf(HasSubstr("the key"), HasSubstr("uniform"), HasSubstr("new key")));
    }
  }
}

TEST(SecretKeyFileTest, UniformSecretsPassAndTheBoundIsAsStated) {
  Csprng rng;
  for (const uint32_t n : {4096u, 8192u}) {
    std::vector<int8_t> drawn(n);
    for (int i = 0; i < 200; ++i) {
      ring::SampleTernary(drawn, rng);
      EXPECT_TRUE(ckks::CheckUniformTernary(drawn, "key").ok());
    }
    // 7 deviations of weight or sum: a uniform secret is refused less than once in 10^9.
    const double hoeffding = 2 * std::exp(-2 * 49 * 2.0 / 9);
    const double deviation = std::sqrt(n * 2.0 / 3);
    const double bernstein = 2 * std::exp(-49 / 2.0 / (1 + 7 / (3 * deviation)));
    EXPECT_LT(hoeffding + bernstein, 1e-9);
    // Just inside and just outside of it.
    const auto fill = [&](double weight) {
      std::vector<int8_t> s(n, 0);
      for (size_t i = 0; i < static_cast<size_t>(weight); ++i) s[i] = i % 2 == 0 ? 1 : -1;
      return s;
    };
    const double expected = n * 2.0 / 3, step = std::sqrt(n * 2.0 / 9);
    EXPECT_TRUE(ckks::CheckUniformTernary(fill(expected - 6.9 * step), "key").ok());
    EXPECT_TRUE(ckks::CheckUniformTernary(fill(expected + 6.9 * step), "key").ok());
    EXPECT_FALSE(ckks::CheckUniformTernary(fill(expected - 7.1 * step), "key").ok());
    EXPECT_FALSE(ckks::CheckUniformTernary(fill(expected + 7.1 * step), "key").ok());
  }
}

}  // namespace
}  // namespace heft
