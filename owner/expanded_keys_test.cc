// SPDX-License-Identifier: Apache-2.0
// Keys that are expanded once and mapped: the same replies as with parsed ones, bit for bit, and
// only the right file is accepted.
#include "fusion/expanded_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "base/envelope.h"
#include "base/files.h"
#include "heft/audit.h"
#include "heft/server.h"
#include "matcher/server_impl.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using ::testing::HasSubstr;
using StatusCode = absl::StatusCode;

// KeyBytes: key files of a profile's owner, made once; each call of the owner's draws others.
struct KeyBytes {
  Bytes evaluation, enrolment;
  static const KeyBytes& Of(const std::string& profile) {
    static auto* all = new std::map<std::string, KeyBytes>;
    KeyBytes& keys = (*all)[profile];
    if (keys.evaluation.empty()) {
      const KeyOwner& owner = testing::PublicRoles::Of(profile).owner;
      keys = {*owner.EvaluationKeys(), *owner.EnrolmentKeys()};
    }
    return keys;
  }
};

class ExpandedKeysTest : public testing::RolesTest {
 protected:
  ExpandedKeysTest() : keys_(KeyBytes::Of(GetParam())) {
    Write(evaluation_, keys_.evaluation);
    Write(enrolment_, keys_.enrolment);
  }
  static void Write(const std::string& path, const Bytes& bytes) {
    ASSERT_TRUE(WriteFileAtomic(path, bytes).ok());
  }
  static std::string Out(const std::string& source) { return source + ".expanded"; }
  void Make(const std::string& source) const {
    const absl::Status made = ExpandedKeys::Make(model_, source, Out(source));
    ASSERT_TRUE(made.ok()) << made;
  }
  static absl::StatusOr<ExpandedKeys> Open(const std::string& source) {
    return ExpandedKeys::Open(Out(source), source);
  }
  static StatusCode OpenCode(const std::string& source) { return Open(source).status().code(); }
  KeyFile EvaluationBytes() const { return {.bytes = keys_.evaluation}; }
  KeyFile EnrolmentBytes() const { return {.bytes = keys_.enrolment, .what = "enrolment keys"}; }
  static KeyFile Mapped(const absl::StatusOr<ExpandedKeys>& keys) {
    EXPECT_TRUE(keys.ok()) << keys.status();
    return {.expanded = &*keys};
  }
  static void Flip(const std::string& path, size_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 0x10));
    ASSERT_TRUE(file.good()) << at;
  }

  const KeyBytes& keys_;
  const std::string evaluation_ = temporary_ / "evaluation.keys";
  const std::string enrolment_ = temporary_ / "enrolment.keys";
};

using Keys = std::map<uint32_t, const ckks::SwitchKey*>;

Keys KeysOf(const ckks::EvaluationKeys& keys) {
  Keys out = {{1, &keys.relinearisation}};
  for (const auto& [element, key] : keys.galois) out[element] = &key;
  return out;
}

void ExpectSame(const ckks::EvaluationKeys& parsed, const ckks::EvaluationKeys& mapped) {
  EXPECT_EQ(parsed.key_id, mapped.key_id);
  const Keys a = KeysOf(parsed), b = KeysOf(mapped);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [element, key] : a) {
    ASSERT_TRUE(b.contains(element)) << element;
    EXPECT_EQ(key->sizes(), b.at(element)->sizes()) << element;
    EXPECT_TRUE(std::ranges::equal(key->values(), b.at(element)->values())) << element;
  }
}

TEST_P(ExpandedKeysTest, RepliesAreThoseOfParsedKeysBitForBit) {
  Make(evaluation_);
  Make(enrolment_);
  const auto mapped_evaluation = Open(evaluation_);
  const auto mapped_enrolment = Open(enrolment_);
  const auto parsed = Server::Impl::CreateFrom(model_, EvaluationBytes(), EnrolmentBytes());
  const auto mapped =
      Server::Impl::CreateFrom(model_, Mapped(mapped_evaluation), Mapped(mapped_enrolment));
  ASSERT_TRUE(parsed.ok() && mapped.ok()) << parsed.status() << mapped.status();
  const Server::Impl &a = **parsed, &b = **mapped;
  ExpectSame(a.keys(), b.keys());
  ExpectSame(a.enrolment_keys(), b.enrolment_keys());
  EXPECT_TRUE(
      std::ranges::equal(a.ring_keys().ring_switch.values(), b.ring_keys().ring_switch.values()));

  ASSERT_TRUE(server_->Enrol(folder_, Files(1, "ann")).ok());
  ASSERT_TRUE(server_->Enrol(folder_, Files(2, "bob")).ok());
  ASSERT_TRUE(Approve(folder_).ok());
  ASSERT_TRUE(MakeAuditKey(folder_).ok());
  const Gallery gallery = *Gallery::Open(folder_);
  const auto serialize = [&](const absl::StatusOr<EncryptedScores>& scores) {
    EXPECT_TRUE(scores.ok()) << scores.status();
    return SerializeScores(*a.instance().context, *scores);
  };
  const SampleSet probe = *a.Read(Files(1, "", SampleUse::kIdentification));
  const SampleSet claim = *a.Read(Files(2, ""));
  Draw draw = *a.NewDraw(Inside::Of(gallery));
  EXPECT_EQ(serialize(a.IdentifyAs(Inside::Of(gallery), probe, {}, draw)),
            serialize(b.IdentifyAs(Inside::Of(gallery), probe, {}, draw)));
  draw = *a.NewDraw(Inside::Of(gallery));
  EXPECT_EQ(serialize(a.VerifyAs(Inside::Of(gallery), claim, "bob", {}, draw)),
            serialize(b.VerifyAs(Inside::Of(gallery), claim, "bob", {}, draw)));
  const auto one = a.FuseAll(claim, {.identity = "bob"});
  const auto other = b.FuseAll(claim, {.identity = "bob"});
  ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
  for (size_t part = 0; part < 2; ++part) {
    EXPECT_TRUE(
        std::ranges::equal(one->at(0).z.parts[part].values(), other->at(0).z.parts[part].values()));
  }
}

TEST_P(ExpandedKeysTest, AServerKeepsItsKeysWhateverBecomesOfTheFile) {
  Make(evaluation_);
  auto keys = Open(evaluation_);
  const auto server = Server::Impl::CreateFrom(model_, Mapped(keys), {});
  ASSERT_TRUE(server.ok()) << server.status();
  keys = absl::NotFoundError("");
  ASSERT_TRUE(std::filesystem::remove(Out(evaluation_)));
  const auto parsed = Server::Impl::CreateFrom(model_, EvaluationBytes(), {});
  ExpectSame((*parsed)->keys(), (*server)->keys());
}

TEST_P(ExpandedKeysTest, MappedAndParsedKeysGoTogether) {
  Make(evaluation_);
  Make(enrolment_);
  const auto evaluation = Open(evaluation_), enrolment = Open(enrolment_);
  EXPECT_TRUE(Server::CreateFrom(model_, Mapped(evaluation), EnrolmentBytes()).ok());
  EXPECT_TRUE(Server::CreateFrom(model_, EvaluationBytes(), Mapped(enrolment)).ok());
}

TEST_P(ExpandedKeysTest, WhatDoesNotBelongTogetherIsRefused) {
  Make(evaluation_);
  const auto evaluation = Open(evaluation_);
  const auto code = [](const absl::StatusOr<Server>& server) { return server.status().code(); };
  // Of another profile; of a larger dimension, which needs more keys.
  const std::string other = "flooded";
  EXPECT_EQ(code(Server::CreateFrom(testing::PublicRoles::Of(other).model, Mapped(evaluation))),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(Server::CreateFrom(testing::RandomModel({40, 24}, 64, 3, GetParam()),
                                    Mapped(evaluation))),
            StatusCode::kFailedPrecondition);
  Make(enrolment_);
  const auto enrolment = Open(enrolment_);
  EXPECT_EQ(code(Server::CreateFrom(model_, Mapped(enrolment))), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(Server::CreateFrom(model_, Mapped(evaluation), Mapped(evaluation))),
            StatusCode::kFailedPrecondition);
  const KeyOwner stranger = *KeyOwner::Generate(model_);
  Write(enrolment_, *stranger.EnrolmentKeys());
  Make(enrolment_);
  const auto foreign = Open(enrolment_);
  EXPECT_EQ(code(Server::CreateFrom(model_, Mapped(evaluation), Mapped(foreign))),
            StatusCode::kFailedPrecondition);
}

TEST_P(ExpandedKeysTest, DamageIsFound) {
  Make(evaluation_);
  const std::string path = Out(evaluation_);
  const Bytes whole = *ReadFile(path);
  ASSERT_EQ(OpenCode(evaluation_), StatusCode::kOk);
  const size_t envelope = kEnvelopeOverhead + ByteReader(ByteSpan(whole).subspan(16), "").U64();
  const size_t values = (envelope + 4095) / 4096 * 4096;
  std::vector<size_t> places;
  for (size_t i = 0; i < values; i += i < 24 ? 1 : 7) places.push_back(i);
  // In every key, and at both ends.
  for (size_t i = values; i < whole.size(); i += (whole.size() - values) / 61) places.push_back(i);
  places.push_back(whole.size() - 1);
  for (const size_t place : places) {
    Flip(path, place);
    EXPECT_EQ(OpenCode(evaluation_), StatusCode::kDataLoss) << place;
    Flip(path, place);
  }
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kOk);
  for (const size_t size : {whole.size() - 1, whole.size() - 4096, values, values - 1, envelope,
                            envelope - 1, size_t{24}, size_t{0}}) {
    std::filesystem::resize_file(path, size);
    EXPECT_EQ(OpenCode(evaluation_), StatusCode::kDataLoss) << size;
    Write(path, whole);
  }
  std::filesystem::resize_file(path, whole.size() + 4096);
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kDataLoss);
  // Another file of ours, and another version.
  Write(path, keys_.evaluation);
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kDataLoss);
  Bytes next(whole.begin(), whole.begin() + static_cast<long>(envelope));
  next = SealEnvelope("EXPK", 2, ByteSpan(next).subspan(24, envelope - kEnvelopeOverhead));
  Bytes later = whole;
  std::ranges::copy(next, later.begin());
  Write(path, later);
  EXPECT_THAT(Open(evaluation_).status().message(), HasSubstr("format version 2"));
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kDataLoss);
}

TEST_P(ExpandedKeysTest, KeysThatHaveChangedAreNotUsed) {
  Make(evaluation_);
  // The same bytes in another file, later.
  Write(evaluation_, keys_.evaluation);
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kOk);
  // Others.
  Write(evaluation_, *owner_->EvaluationKeys());
  const auto stale = Open(evaluation_);
  EXPECT_EQ(stale.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(stale.status().message(), HasSubstr("made from other keys"));
  Make(evaluation_);
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kOk);
  // The same keys, signed, perhaps for a shorter time.
  Write(evaluation_, *owner_->Signer()->Sign({.role = Role::kKeyOwner}, keys_.evaluation));
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kDataLoss);
  // One bit, with size and time as they were.
  Write(evaluation_, keys_.evaluation);
  Make(evaluation_);
  const auto time = std::filesystem::last_write_time(evaluation_);
  Flip(evaluation_, keys_.evaluation.size() / 2);
  std::filesystem::last_write_time(evaluation_, time);
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kDataLoss);
  std::filesystem::remove(evaluation_);
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kNotFound);
}

TEST_P(ExpandedKeysTest, WhatOthersCouldHaveWrittenIsNotBelieved) {
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kNotFound);
  Make(evaluation_);
  const std::string path = Out(evaluation_);
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  for (const mode_t mode : {0664, 0646}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(OpenCode(evaluation_), StatusCode::kFailedPrecondition);
  }
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kOk);
  std::filesystem::rename(path, temporary_ / "elsewhere");
  std::filesystem::create_symlink(temporary_ / "elsewhere", path);
  EXPECT_EQ(OpenCode(evaluation_), StatusCode::kFailedPrecondition);
}

TEST_P(ExpandedKeysTest, SignaturesCountAsThoseOfTheKeyFile) {
  const SigningKey signer = *owner_->Signer();
  Trust trust;
  ASSERT_TRUE(trust.Add(Role::kKeyOwner, "owner", signer.public_key()).ok());
  const Expected expected = {.roles = {Role::kKeyOwner}, .kind = "EVAL"};
  const auto check = [&](const Bytes& bytes) {
    Write(evaluation_, bytes);
    Make(evaluation_);
    const auto mapped = Open(evaluation_)->CheckSigned(trust, expected, "keys");
    const auto whole = OpenSigned(bytes, trust, expected, "keys");
    EXPECT_EQ(mapped.status(), whole.status());
    if (whole.ok()) {
      EXPECT_EQ(mapped->signer, whole->signer);
    }
    return mapped.status();
  };
  const Bytes good = *signer.Sign({.role = Role::kKeyOwner}, keys_.evaluation);
  EXPECT_TRUE(check(good).ok());
  EXPECT_FALSE(check(keys_.evaluation).ok());
  EXPECT_FALSE(check(*signer.Sign({.role = Role::kServer}, keys_.evaluation)).ok());
  EXPECT_FALSE(
      check(*signer.Sign({.role = Role::kKeyOwner, .issued = 1, .expires = 2}, keys_.evaluation))
          .ok());
  const SigningKey stranger = *SigningKey::Generate();
  EXPECT_FALSE(check(*stranger.Sign({.role = Role::kKeyOwner}, keys_.evaluation)).ok());
  // A signature that was false when the keys were expanded stays so.
  Bytes forged = good;
  forged[24 + 189] ^= 1;
  const Hash hash = HashBytes(ByteSpan(forged).first(forged.size() - sizeof(Hash)));
  std::ranges::copy(hash, forged.end() - sizeof(Hash));
  EXPECT_EQ(check(forged).code(), StatusCode::kDataLoss);
  // Revoked later.
  Write(evaluation_, good);
  Make(evaluation_);
  ASSERT_TRUE(trust.Revoke(signer.public_key()).ok());
  EXPECT_FALSE(Open(evaluation_)->CheckSigned(trust, expected, "keys").ok());
}

TEST_P(ExpandedKeysTest, MakersAndReadersMeet) {
  Make(evaluation_);
  std::vector<std::thread> threads;
  std::vector<absl::Status> made(3), opened(3);
  for (size_t i = 0; i < made.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 3; ++k) {
        made[i].Update(ExpandedKeys::Make(model_, evaluation_, Out(evaluation_)));
      }
    });
    threads.emplace_back([&, i] {
      for (int k = 0; k < 20; ++k) opened[i].Update(Open(evaluation_).status());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : made) EXPECT_TRUE(status.ok()) << status;
  for (const absl::Status& status : opened) EXPECT_TRUE(status.ok()) << status;
  // Nothing is left of what they did: two files of keys, and one expanded.
  const std::filesystem::directory_iterator files(temporary_.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 3);
}

TEST_P(ExpandedKeysTest, MakeRefusesWhatAServerWould) {
  const auto make = [&](const Bytes& bytes) {
    Write(evaluation_, bytes);
    return ExpandedKeys::Make(model_, evaluation_, Out(evaluation_)).code();
  };
  EXPECT_EQ(make(owner_->EncryptionKey()), StatusCode::kDataLoss);
  EXPECT_EQ(make({}), StatusCode::kDataLoss);
  Bytes damaged = keys_.evaluation;
  damaged[1000] ^= 1;
  EXPECT_EQ(make(damaged), StatusCode::kDataLoss);
  damaged = keys_.enrolment;
  damaged[1000] ^= 1;
  EXPECT_EQ(make(damaged), StatusCode::kDataLoss);
  EXPECT_EQ(make(SealEnvelope("ENRK", 1, {})), StatusCode::kDataLoss);
  const std::string other = "flooded";
  EXPECT_EQ(make(KeyBytes::Of(other).evaluation), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(FileExists(Out(evaluation_)));
  std::filesystem::remove(evaluation_);
  EXPECT_EQ(ExpandedKeys::Make(model_, evaluation_, Out(evaluation_)).code(),
            StatusCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Profiles, ExpandedKeysTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
