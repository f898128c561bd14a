// SPDX-License-Identifier: Apache-2.0
// SEAL's objects: files that SEAL wrote (tests/data/seal), round trips, and hostile bytes.
// tests/seal checks with SEAL itself that it reads our objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/files.h"
#include "base/testing.h"
#include "ckks/arithmetic.h"
#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "seal/format.h"
#include "seal/objects.h"
#include "seal/owner/secret_key.h"

namespace heft::seal {
namespace {

using Bytes = std::vector<uint8_t>;
using ckks::Complex;

constexpr Compression kAllCompressions[] = {Compression::kNone, Compression::kZlib,
                                            Compression::kZstd};

Bytes ReadData(const std::string& name) {
  auto bytes = ReadFile(testing::SourcePath("tests/data/seal/") + name);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : Bytes();
}

template <typename Poly>
bool SameValues(const Poly& a, const Poly& b) {
  return std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end());
}

// The bytes of an object with its members changed by `change`, uncompressed.
template <typename Change>
Bytes Changed(const Bytes& object, const Change& change) {
  Bytes members(object.begin() + kHeaderSize, object.end());
  change(members);
  return WrapObject(members, Compression::kNone);
}

// Files written by SEAL 4.1.2 (tests/data/seal/README.md).
class SealFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto params = ReadParams(ReadData("parms"), "parms", /*allow_insecure=*/true);
    ASSERT_TRUE(params.ok()) << params.status();
    context_ = std::make_shared<ckks::Context>(*params);
    encoder_ = std::make_unique<ckks::Encoder>(context_);
    const Bytes text = ReadData("expected.json");
    expected_ = nlohmann::json::parse(text.begin(), text.end());
    auto secret = ReadSecretKey(*context_, {}, ReadData("secret_key"), "secret_key");
    ASSERT_TRUE(secret.ok()) << secret.status();
    secret_ = std::make_unique<ckks::SecretKey>(*std::move(secret));
  }
  std::vector<double> Slots(const char* name) const { return expected_[name]; }
  void ExpectDecrypts(const ckks::Ciphertext& c, const std::vector<double>& expected) const {
    const auto slots = encoder_->Decode(Decrypt(*context_, c, *secret_));
    for (size_t i = 0; i < slots.size(); ++i) EXPECT_NEAR(slots[i].real(), expected[i], 1e-3) << i;
  }

  std::shared_ptr<ckks::Context> context_;
  std::unique_ptr<ckks::Encoder> encoder_;
  nlohmann::json expected_;
  std::unique_ptr<ckks::SecretKey> secret_;
};

TEST_F(SealFilesTest, ParametersAndTheirIdentities) {
  EXPECT_EQ(context_->n(), 64u);
  EXPECT_EQ(context_->params().primes(), expected_["primes"].get<std::vector<uint32_t>>());
  for (size_t primes = 1; primes <= context_->params().limbs() + 1; ++primes) {
    const ParmsId id = ParmsIdOf(context_->params(), primes);
    EXPECT_EQ(HexString(id), expected_["parms_ids"][primes - 1].get<std::string>());
  }
  EXPECT_EQ(WriteParams(context_->params(), Compression::kNone), ReadData("parms"));
}

TEST_F(SealFilesTest, PlaintextIsOurEncoding) {
  const auto read = ReadPlaintext(*context_, ReadData("plaintext"), "plaintext");
  ASSERT_TRUE(read.ok()) << read.status();
  const auto encoded = encoder_->Encode(std::span<const double>(Slots("a")), read->scale, 3);
  ASSERT_TRUE(encoded.ok());
  EXPECT_TRUE(SameValues(read->poly, encoded->poly));
  EXPECT_EQ(*WritePlaintext(*context_, *encoded, Compression::kNone), ReadData("plaintext"));
}

TEST_F(SealFilesTest, CiphertextsInEveryForm) {
  for (const char* name : {"ciphertext", "ciphertext_zlib", "ciphertext_zstd", "seeded_zstd"}) {
    SCOPED_TRACE(name);
    const auto c = ReadCiphertext(*context_, ReadData(name), name);
    ASSERT_TRUE(c.ok()) << c.status();
    ExpectDecrypts(*c, Slots("a"));
  }
  std::optional<SealSeed> seed;
  const Bytes bytes = ReadData("seeded");
  const auto seeded = ReadCiphertext(*context_, bytes, "seeded", &seed);
  ASSERT_TRUE(seeded.ok()) << seeded.status();
  ASSERT_TRUE(seed.has_value());
  ExpectDecrypts(*seeded, Slots("a"));
  EXPECT_EQ(WriteCiphertext(*context_, *seeded, Compression::kNone, &*seed), bytes);
}

TEST_F(SealFilesTest, KeysInEveryForm) {
  for (const char* name : {"public_key", "public_key_seeded"}) {
    const auto key = ReadPublicKey(*context_, ReadData(name), name);
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(key->seed.has_value(), std::string(name) == "public_key_seeded");
    Csprng rng;
    const auto plain = encoder_->Encode(std::span<const double>(Slots("a")), 0x1p20, 3);
    ExpectDecrypts(ckks::Encrypt(*context_, *plain, ToPublicKey({}, *key), rng), Slots("a"));
    EXPECT_EQ(WritePublicKey(*context_, *key, Compression::kNone), ReadData(name));
  }
  const auto a = ReadCiphertext(*context_, ReadData("ciphertext"), "ciphertext");
  std::vector<double> squares, rotated;
  const std::vector<double> slots = Slots("a");
  for (size_t i = 0; i < slots.size(); ++i) {
    squares.push_back(slots[i] * slots[i]);
    rotated.push_back(slots[(i + 1) % slots.size()]);
  }
  for (const char* name : {"relin_keys_zstd", "relin_keys_seeded"}) {
    const auto key = ReadRelinearisationKey(*context_, ReadData(name), name);
    ASSERT_TRUE(key.ok()) << key.status();
    ckks::EvaluationKeys keys;
    const ckks::FullSwitchKey full = CutKey(*key, 3);
    keys.relinearisation = ckks::SwitchKey(*context_, full.b, full.a, 1);
    ckks::Ciphertext c;
    ASSERT_TRUE(ckks::Square(*context_, &c, *a).ok());
    ASSERT_TRUE(ckks::Relinearise(*context_, &c, c, keys).ok());
    ExpectDecrypts(c, squares);
  }
  for (const char* name : {"galois_keys_zlib", "galois_keys_seeded"}) {
    const uint32_t conjugation = ckks::ConjugationElement(context_->params());
    const auto all =
        ReadGaloisKeys(*context_, ReadData(name), {{3, 3}, {9, 3}, {conjugation, 2}}, name);
    ASSERT_TRUE(all.ok()) << all.status();
    ASSERT_EQ(all->size(), 2u) << "the file has steps 1 and conjugation, not 2";
    EXPECT_EQ(all->at(conjugation).limbs(), 2u);
    ckks::EvaluationKeys keys;
    keys.galois[3] = ckks::SwitchKey(*context_, all->at(3).b, all->at(3).a, 3);
    ckks::Ciphertext c;
    ASSERT_TRUE(ckks::Rotate(*context_, &c, *a, 1, keys).ok());
    ExpectDecrypts(c, rotated);
  }
}

TEST_F(SealFilesTest, SecretKeyIsWrittenAsSealDoes) {
  const auto written = WriteSecretKey(*context_, *secret_);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(Bytes(written->data(), written->data() + written->size()), ReadData("secret_key"));
  for (const char* name : {"secret_key_zlib", "secret_key_zstd"}) {
    const auto key = ReadSecretKey(*context_, {}, ReadData(name), name);
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_TRUE(std::equal(key->coefficients().begin(), key->coefficients().end(),
                           secret_->coefficients().begin()));
  }
}

// Our own objects under a small context.
class SealObjectsTest : public ::testing::Test {
 protected:
  SealObjectsTest()
      : params_(*ckks::Params::Create({64, {30, 28, 20}, 30, true})),
        context_(std::make_shared<ckks::Context>(params_)),
        encoder_(context_),
        secret_(*ckks::SecretKey::Generate(*context_, rng_)) {
    const std::vector<double> slots = {1, -0.5, 0.25};
    plain_ = *encoder_.Encode(std::span<const double>(slots), 0x1p20, 3);
    encryption_ = EncryptSeeded(*context_, plain_, secret_, rng_);
  }
  const ckks::Context& context() const { return *context_; }

  ckks::Params params_;
  std::shared_ptr<ckks::Context> context_;
  ckks::Encoder encoder_;
  TestCsprng rng_{Seed{5}};
  ckks::SecretKey secret_;
  ckks::Plaintext plain_;
  SeededEncryption encryption_;
};

TEST_F(SealObjectsTest, RoundTripsWithEveryCompression) {
  const KeyPart public_key = MakeSeededPublicKey(context(), secret_, rng_);
  const KeyDigits relin = MakeSeededRelinearisationKey(context(), secret_, rng_);
  KeyDigits unseeded = relin;
  for (KeyPart& part : unseeded) part.seed.reset();
  const std::map<uint32_t, KeyDigits> galois = {
      {3, MakeSeededGaloisKey(context(), secret_, 3, rng_)},
      {127, MakeSeededGaloisKey(context(), secret_, 127, rng_)}};
  ckks::Ciphertext three, low;
  ASSERT_TRUE(
      ckks::Multiply(context(), &three, encryption_.ciphertext, encryption_.ciphertext).ok());
  ASSERT_TRUE(ckks::DropLimbs(context(), &low, three, 2).ok());
  for (Compression mode : kAllCompressions) {
    SCOPED_TRACE(static_cast<int>(mode));
    EXPECT_EQ(*ReadParams(WriteParams(params_, mode), "p", true), params_);
    const auto plain =
        ReadPlaintext(context(), *WritePlaintext(context(), plain_, mode), "plaintext");
    ASSERT_TRUE(plain.ok()) << plain.status();
    EXPECT_TRUE(SameValues(plain->poly, plain_.poly));
    EXPECT_EQ(plain->scale, plain_.scale);
    for (const ckks::Ciphertext* c : {&encryption_.ciphertext, &three, &low}) {
      const auto read = ReadCiphertext(context(), WriteCiphertext(context(), *c, mode), "c");
      ASSERT_TRUE(read.ok()) << read.status();
      ASSERT_EQ(read->size(), c->size());
      for (size_t p = 0; p < c->size(); ++p) EXPECT_TRUE(SameValues(read->parts[p], c->parts[p]));
    }
    const auto seeded = ReadCiphertext(
        context(), WriteCiphertext(context(), encryption_.ciphertext, mode, &encryption_.seed),
        "seeded");
    ASSERT_TRUE(seeded.ok()) << seeded.status();
    EXPECT_TRUE(SameValues(seeded->parts[1], encryption_.ciphertext.parts[1]));
    const auto key = ReadPublicKey(context(), WritePublicKey(context(), public_key, mode), "key");
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_TRUE(SameValues(key->a, public_key.a));
    for (const KeyDigits* digits : {&relin, &std::as_const(unseeded)}) {
      const auto read = ReadRelinearisationKey(
          context(), WriteRelinearisationKey(context(), *digits, mode), "relin");
      ASSERT_TRUE(read.ok()) << read.status();
      for (size_t j = 0; j < relin.size(); ++j) {
        EXPECT_TRUE(SameValues((*read)[j].a, relin[j].a));
        EXPECT_TRUE(SameValues((*read)[j].b, relin[j].b));
      }
    }
    const auto rotations = ReadGaloisKeys(context(), WriteGaloisKeys(context(), galois, mode),
                                          {{3, 3}, {127, 1}}, "galois");
    ASSERT_TRUE(rotations.ok()) << rotations.status();
    EXPECT_TRUE(SameValues(rotations->at(3).b[2], galois.at(3)[2].b));
  }
}

TEST_F(SealObjectsTest, ShakeSeedsExpandToOtherPolynomials) {
  SealSeed seed = encryption_.seed;
  const ring::RnsPoly blake = ExpandSeed(context(), seed, 3);
  seed.kind = SeedKind::kShake256;
  const ring::RnsPoly shake = ExpandSeed(context(), seed, 3);
  EXPECT_FALSE(SameValues(blake, shake));
  // SHAKE256 of 64 zero bytes and a zero counter: Python's hashlib.shake_256(bytes(72)).
  const auto block = SeedBlock({SeedKind::kShake256, {}}, 0);
  EXPECT_EQ(HexString(ByteSpan(block).first(16)), "64ff78306d2ec7b31beddb9b444f1d3f");
}

TEST_F(SealObjectsTest, EveryTruncationIsRefused) {
  const KeyDigits relin = MakeSeededRelinearisationKey(context(), secret_, rng_);
  for (Compression mode : kAllCompressions) {
    const Bytes c = WriteCiphertext(context(), encryption_.ciphertext, mode, &encryption_.seed);
    const Bytes keys = WriteRelinearisationKey(context(), relin, mode);
    const Bytes params = WriteParams(params_, mode);
    for (size_t size = 0; size < c.size(); ++size) {
      Bytes cut(c.begin(), c.begin() + size);
      EXPECT_FALSE(ReadCiphertext(context(), cut, "c").ok()) << size;
      if (size < kHeaderSize) continue;
      // The same with a matching declared size.
      ByteWriter writer;
      WriteHeader(writer, size, mode);
      std::copy(writer.bytes().begin(), writer.bytes().end(), cut.begin());
      EXPECT_FALSE(ReadCiphertext(context(), cut, "c").ok()) << size;
    }
    for (size_t size = 0; size < keys.size(); size += 97) {
      EXPECT_FALSE(ReadRelinearisationKey(context(), ByteSpan(keys).first(size), "k").ok());
    }
    for (size_t size = 0; size < params.size(); ++size) {
      EXPECT_FALSE(ReadParams(ByteSpan(params).first(size), "p", true).ok());
    }
  }
}

TEST_F(SealObjectsTest, NoFlippedFieldIsTaken) {
  // Every byte before the residues except those of scale and seed.
  const Bytes c = WriteCiphertext(context(), encryption_.ciphertext, Compression::kNone);
  const size_t scale = kHeaderSize + sizeof(ParmsId) + 1 + 24;
  for (size_t at = 0; at < kHeaderSize + sizeof(ParmsId) + 41 + kArrayOverhead; ++at) {
    if (at == 4 || at == kHeaderSize + sizeof(ParmsId) + 41 + 4) continue;  // minor version
    if (at >= scale && at < scale + 8) continue;
    Bytes flipped = c;
    flipped[at] ^= 0x40;
    EXPECT_FALSE(ReadCiphertext(context(), flipped, "c").ok()) << at;
  }
  for (double bad : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e-310, 0x1p79}) {
    Bytes changed = c;
    std::memcpy(changed.data() + scale, &bad, sizeof(bad));
    EXPECT_FALSE(ReadCiphertext(context(), changed, "c").ok()) << bad;
  }
}

TEST_F(SealObjectsTest, ResiduesMustBeBelowTheirPrimes) {
  const Bytes c = WriteCiphertext(context(), encryption_.ciphertext, Compression::kNone);
  const size_t first = c.size() - 2 * 3 * 64 * 8;
  for (size_t limb = 0; limb < 6; ++limb) {
    Bytes changed = c;
    const uint64_t q = params_.modulus(limb % 3).value();
    std::memcpy(changed.data() + first + limb * 64 * 8 + 8, &q, sizeof(q));
    EXPECT_EQ(ReadCiphertext(context(), changed, "c").status().code(), absl::StatusCode::kDataLoss);
    const uint64_t high = uint64_t{1} << 32;  // the low half alone would pass
    std::memcpy(changed.data() + first + limb * 64 * 8 + 8, &high, sizeof(high));
    EXPECT_FALSE(ReadCiphertext(context(), changed, "c").ok());
  }
}

TEST_F(SealObjectsTest, ObjectsOfOtherParametersAreRefused) {
  const ckks::Context other(*ckks::Params::Create({64, {30, 28, 22}, 30, true}));
  const auto status = [](const auto& result) { return result.status().code(); };
  const auto expected = absl::StatusCode::kFailedPrecondition;
  const Bytes c = WriteCiphertext(context(), encryption_.ciphertext, Compression::kZstd);
  EXPECT_EQ(status(ReadCiphertext(other, c, "c")), expected);
  const Bytes p = *WritePlaintext(context(), plain_, Compression::kNone);
  EXPECT_EQ(status(ReadPlaintext(other, p, "p")), expected);
  const Bytes k =
      WritePublicKey(context(), MakeSeededPublicKey(context(), secret_, rng_), Compression::kNone);
  EXPECT_EQ(status(ReadPublicKey(other, k, "k")), expected);
  // A key is not a ciphertext, although the bytes are similar.
  EXPECT_EQ(status(ReadCiphertext(context(), k, "k")), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(ReadPublicKey(context(), c, "c").ok());
  const auto s = WriteSecretKey(context(), secret_);
  EXPECT_EQ(status(ReadSecretKey(other, {}, s->span(), "s")), expected);
}

TEST_F(SealObjectsTest, LargePrimesAndOtherSchemesAreRefused) {
  const Bytes good = WriteParams(params_, Compression::kNone);
  const auto with_prime = [&](uint64_t prime) {
    return Changed(good, [&](Bytes& m) { std::memcpy(m.data() + 17 + 16, &prime, 8); });
  };
  const auto large = ReadParams(with_prime(1099511590913), "p", true);  // 40 bits
  EXPECT_THAT(std::string(large.status().message()), ::testing::HasSubstr("at most 30"));
  EXPECT_FALSE(ReadParams(with_prime(1 << 20), "p", true).ok());
  EXPECT_FALSE(ReadParams(Changed(good, [](Bytes& m) { m[0] = 1; }), "p", true).ok());
  EXPECT_FALSE(ReadParams(Changed(good, [](Bytes& m) { m[9] = 200; }), "p", true).ok());
  EXPECT_FALSE(ReadParams(Changed(good, [](Bytes& m) { m.back() = 1; }), "p", true).ok());
  EXPECT_FALSE(ReadParams(good, "p").ok()) << "64 is no secure degree";
  EXPECT_TRUE(ReadParams(good, "p", true).ok());
}

TEST_F(SealObjectsTest, DecompressionIsBounded) {
  // 64 MB of zeros as each kind of object: small files that expand to more than any object may
  // have.
  const Bytes zeros(size_t{64} << 20);
  for (Compression mode : {Compression::kZlib, Compression::kZstd}) {
    const Bytes bomb = WrapObject(zeros, mode);
    ASSERT_LT(bomb.size(), size_t{100} << 10);
    EXPECT_THAT(std::string(ReadCiphertext(context(), bomb, "c").status().message()),
                ::testing::HasSubstr("decompresses to more"));
    EXPECT_FALSE(ReadParams(bomb, "p").ok());
    EXPECT_FALSE(ReadPlaintext(context(), bomb, "p").ok());
    EXPECT_FALSE(ReadPublicKey(context(), bomb, "k").ok());
    EXPECT_FALSE(ReadRelinearisationKey(context(), bomb, "k").ok());
    EXPECT_THAT(std::string(ReadGaloisKeys(context(), bomb, {}, "k").status().message()),
                ::testing::HasSubstr("decompresses to more"));
    EXPECT_FALSE(ReadSecretKey(context(), {}, bomb, "s").ok());
  }
}

TEST_F(SealObjectsTest, CountsAreCheckedBeforeMemoryIsTaken) {
  const KeyDigits relin = MakeSeededRelinearisationKey(context(), secret_, rng_);
  const Bytes keys = WriteRelinearisationKey(context(), relin, Compression::kNone);
  for (uint64_t count : {uint64_t{2}, uint64_t{1} << 40, ~uint64_t{0}}) {
    for (size_t at : {size_t{32}, size_t{40}}) {  // keys, digits
      const Bytes changed =
          Changed(keys, [&](Bytes& m) { std::memcpy(m.data() + at, &count, sizeof(count)); });
      EXPECT_FALSE(ReadRelinearisationKey(context(), changed, "k").ok());
      EXPECT_FALSE(ReadGaloisKeys(context(), changed, {}, "k").ok());
    }
    const Bytes c = WriteCiphertext(context(), encryption_.ciphertext, Compression::kNone);
    for (size_t at : {size_t{33}, size_t{41}, size_t{49}, size_t{73 + 16}}) {
      const Bytes changed =
          Changed(c, [&](Bytes& m) { std::memcpy(m.data() + at, &count, sizeof(count)); });
      if (at == 33 && count == 2) continue;
      EXPECT_FALSE(ReadCiphertext(context(), changed, "c").ok());
    }
  }
}

TEST_F(SealObjectsTest, SecretKeysMustBeTernaryModuloEveryPrime) {
  const auto written = WriteSecretKey(context(), secret_);
  const Bytes good(written->data(), written->data() + written->size());
  ASSERT_TRUE(ReadSecretKey(context(), {}, good, "s").ok());
  for (size_t limb = 0; limb < 4; ++limb) {
    Bytes changed = good;
    uint8_t& low = changed[changed.size() - (4 - limb) * 64 * 8];
    low ^= 1;
    EXPECT_EQ(ReadSecretKey(context(), {}, changed, "s").status().code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST_F(SealObjectsTest, SecretKeysMustBeUniform) {
  std::vector<int8_t> sparse(64, 0);
  for (const size_t weight : {0, 1, 8}) {
    for (size_t i = 0; i < weight; ++i) sparse[5 * i] = i % 2 == 0 ? 1 : -1;
    const auto key = ckks::SecretKey::FromCoefficients(context(), {}, sparse);
    ASSERT_TRUE(key.ok());
    const auto written = WriteSecretKey(context(), *key);
    const auto read = ReadSecretKey(context(), {}, written->span(), "s");
    EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << weight;
    EXPECT_THAT(std::string(read.status().message()), ::testing::HasSubstr("uniform"));
  }
}

TEST_F(SealObjectsTest, OlderVersionsAreRefusedWithAdvice) {
  Bytes c = WriteCiphertext(context(), encryption_.ciphertext, Compression::kNone);
  c[3] = 3;
  EXPECT_THAT(std::string(ReadCiphertext(context(), c, "c").status().message()),
              ::testing::HasSubstr("save it with SEAL 4"));
}

}  // namespace
}  // namespace heft::seal
