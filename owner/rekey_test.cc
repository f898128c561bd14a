// SPDX-License-Identifier: Apache-2.0
// Renewal: a gallery moves to another key. Scores agree before and after, the old key decrypts
// nothing and is refused, and a renewal that fails leaves the gallery as it was.
#include "fusion/rekey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/testing.h"
#include "fusion/key_files.h"
#include "fusion/owner/keygen.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/profile.h"
#include "fusion/testing.h"
#include "gallery/change.h"
#include "gallery/testing.h"
#include "matcher/enrol_directly.h"
#include "matcher/server_impl.h"
#include "owner/allow_scores.h"
#include "owner/key_owner_impl.h"
#include "store/testing.h"

namespace heft {
namespace {

using testing::EnrolDirectly;
using ::testing::HasSubstr;

constexpr size_t kPeople = 40;

// A secret key and the server that works under it.
struct Party {
  explicit Party(const Instance& instance, const Model& model)
      : secret(*ckks::SecretKey::Generate(*instance.context, rng)),
        server(*Server::Impl::Create(
            model, testing::MakeKeys(*instance.context, instance.plan.keys, secret, rng))) {}
  Csprng rng;
  ckks::SecretKey secret;
  std::unique_ptr<Server::Impl> server;
};

class RekeyTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = new Model(testing::RandomModel({32, 24}, 8, 3));
    instance_ = new Instance(*MakeInstance(*model_));
    old_ = new Party(*instance_, *model_);
    next_ = new Party(*instance_, *model_);
    suite_folder_ = new testing::TemporaryFolder;
    enrolled_ = *suite_folder_ / "enrolled";
    std::vector<uint64_t> all(kPeople);
    for (size_t i = 0; i < kPeople; ++i) all[i] = i;
    ASSERT_TRUE(EnrolDirectly(*old_->server, enrolled_, Set(*old_, all, true)).ok());
  }
  static void TearDownTestSuite() {
    delete suite_folder_;
    delete next_;
    delete old_;
    delete instance_;
    delete model_;
  }
  void SetUp() override {
    std::filesystem::remove_all(directory_);  // tests may restart within it
    std::filesystem::copy(enrolled_, directory_);
  }

  static const ckks::Context& context() { return *instance_->context; }
  static SampleSet Set(const Party& party, const std::vector<uint64_t>& people, bool labelled) {
    std::vector<SampleReader> files;
    for (size_t m = 0; m < model_->modalities.size(); ++m) {
      std::vector<std::vector<double>> rows;
      std::vector<std::string> labels;
      for (uint64_t p : people) {
        std::mt19937_64 rng(p * 2 + m);
        rows.push_back(testing::RandomUnit(model_->modalities[m].dimension, rng));
        if (labelled) labels.push_back(absl::StrCat("p", p));
      }
      auto bytes = EncryptSamplesSymmetric(*instance_, *model_, m, party.secret, rows, labels);
      EXPECT_TRUE(bytes.ok()) << bytes.status();
      files.push_back(*SampleReader::Parse(instance_->context, *bytes, "samples"));
    }
    auto set = SampleSet::Create(*instance_, *model_, std::move(files));
    EXPECT_TRUE(set.ok()) << set.status();
    return std::move(*set);
  }
  static RekeyingKey Key(const ckks::SecretKey& from, const ckks::SecretKey& to) {
    Csprng rng;
    const auto key =
        ckks::MakeRekeyingKey(context(), from, to, MatchLimbs(context().params()), rng);
    const auto bytes = SerializeRekeyingKey(context(), from.key_id(), to.key_id(), key);
    auto parsed = ParseRekeyingKey(context(), bytes, "re-keying key");
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return std::move(*parsed);
  }
  static ckks::SecretKey Copy(const ckks::SecretKey& key) {
    return *ckks::SecretKey::FromCoefficients(context(), key.key_id(), key.coefficients());
  }
  // Unrounded scores of person 0 against everyone in `directory`.
  static std::vector<double> RawScores(const Party& party, const std::string& directory) {
    const Gallery::Impl gallery = *party.server->OpenGallery(directory, false);
    auto scores = party.server->Identify(gallery, Set(party, {0}, true), {});
    EXPECT_TRUE(scores.ok()) << scores.status();
    const KeyOwner owner =
        testing::AllowScores(*KeyOwner::Impl::Own(*model_, SecretKeys(Copy(party.secret))));
    auto slots =
        Inside::Of(owner).OpenRawSlotsUnsafe(SerializeScores(context(), *scores), "scores");
    EXPECT_TRUE(slots.ok()) << slots.status();
    std::vector<double> out;
    for (size_t i = 0; i < kPeople; ++i) out.push_back((*slots)[0][i].real());
    return out;
  }
  static double RmsDifference(const std::vector<double>& a, const std::vector<double>& b) {
    double squares = 0;
    for (size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(squares / static_cast<double>(a.size()));
  }
  // The gallery on the disk. Its root covers its people and every bit of its data.
  struct State {
    ckks::KeyId key_id{};
    uint64_t generation = 0;
    Digest root{};
    std::vector<std::string> identities;
    bool operator==(const State&) const = default;
  };
  State Now() const {
    const Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
    EXPECT_TRUE(gallery.CheckIntact(instance_).ok()) << gallery.CheckIntact(instance_);
    return {gallery.binding().key_id, gallery.generation(), gallery.root(), gallery.identities()};
  }
  // Blocks in the store, of all epochs.
  size_t StoredBlocks() const {
    const Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
    size_t blocks = 0;
    EXPECT_TRUE(gallery.reader()
                    .Scan(Table::kBlocks, {}, [&](ByteSpan, ByteSpan) { return ++blocks > 0; })
                    .ok());
    return blocks;
  }
  // Whether the file contains any of `values` or a large part of one. Pages of the file may be in
  // any order, so this searches for parts.
  bool InTheFile(const std::vector<std::vector<uint8_t>>& values) const {
    const std::vector<uint8_t> file = store_testing::StoreBytes(directory_);
    constexpr size_t kPart = 64;
    for (const std::vector<uint8_t>& value : values) {
      for (size_t at = 0; at + kPart <= value.size(); at += value.size() / 8) {
        const auto part = value.begin() + static_cast<std::ptrdiff_t>(at);
        const std::boyer_moore_horspool_searcher searcher(part, part + kPart);
        if (std::search(file.begin(), file.end(), searcher) != file.end()) return true;
      }
    }
    return false;
  }
  // All ciphertexts under the gallery's key: its blocks and its journal's entries.
  std::vector<std::vector<uint8_t>> Ciphertexts() const {
    const Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
    std::vector<std::vector<uint8_t>> all;
    for (const Table table : {Table::kBlocks, Table::kJournal}) {
      EXPECT_TRUE(gallery.reader()
                      .Scan(table, {},
                            [&](ByteSpan, ByteSpan value) {
                              value = value.subspan(kBlockHeader);
                              all.emplace_back(value.begin(), value.end());
                              return true;
                            })
                      .ok());
    }
    return all;
  }
  // One template in each of `blocks` blocks.
  void MakeSparse(size_t blocks) const {
    std::filesystem::remove_all(directory_);
    std::vector<Enrolment> templates = *old_->server->FuseAll(Set(*old_, {0}, true), {});
    const Gallery::Impl none = *old_->server->OpenGallery(directory_, /*create=*/true);
    GalleryChange change = *GalleryChange::Begin(none, /*start=*/true);
    for (size_t block = 0; block < blocks; ++block) {
      change.head().places = block * 2 * instance_->params().slots();
      templates[0].sample[0] = static_cast<uint8_t>(block + 1);
      ASSERT_TRUE(change.AddSingles(*instance_, templates).ok());
    }
    ASSERT_TRUE(change.Fold(*instance_, old_->server->keys()).ok());
    ASSERT_TRUE(change.Commit().ok());
  }

  static Model* model_;
  static Instance* instance_;
  static Party* old_;
  static Party* next_;
  static testing::TemporaryFolder* suite_folder_;
  static std::string enrolled_;
  const testing::TemporaryFolder temporary_;
  const std::string directory_ = temporary_ / "gallery";
};

Model* RekeyTest::model_;
Instance* RekeyTest::instance_;
Party* RekeyTest::old_;
Party* RekeyTest::next_;
testing::TemporaryFolder* RekeyTest::suite_folder_;
std::string RekeyTest::enrolled_;

TEST_F(RekeyTest, ScoresAgreeBeforeAndAfter) {
  const std::vector<double> before = RawScores(*old_, directory_);
  Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
  const absl::Status moved = RekeyGallery(&gallery, *instance_, Key(old_->secret, next_->secret));
  ASSERT_TRUE(moved.ok()) << moved;
  EXPECT_EQ(gallery.binding().key_id, next_->secret.key_id());
  EXPECT_EQ(Gallery::Impl::Open(directory_)->identities(), gallery.identities());
  const std::vector<double> after = RawScores(*next_, directory_);
  EXPECT_NEAR(after[0], 1, 0.2);
  // Rekeying adds an error that is an order below the noise of each answer.
  const double added = RekeyScoreError(*instance_);
  EXPECT_LT(added, 1e-4);
  // Two separate answers: each has the error that a score may have.
  for (size_t i = 0; i < kPeople; ++i) EXPECT_NEAR(after[i], before[i], 2 * kScoreStep) << i;
  RecordProperty("rms_difference", absl::StrCat(RmsDifference(before, after)));
  // Enrolment continues under the new key.
  EXPECT_TRUE(EnrolDirectly(*next_->server, directory_, Set(*next_, {77}, true)).ok());
  EXPECT_EQ(Gallery::Impl::Open(directory_)->size(), kPeople + 1);
}

// The error of rekeying alone: the same block, decrypted before and after.
TEST_F(RekeyTest, RepeatedRenewalsAddTheErrorThatIsPredicted) {
  const uint32_t n = instance_->params().n();
  const Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
  TiledCiphertexts block = *gallery.ReadBlock(*instance_, 0);
  // Ciphertext 0 of the block, from its tiles ([limb][n / tile][k][part][tile]).
  auto open = [&](const ckks::SecretKey& secret) {
    ckks::Ciphertext c;
    c.scale = instance_->plan.matching.template_scale;
    for (int p = 0; p < 2; ++p) {
      c.parts.emplace_back(n, MatchLimbs(context().params()));
      for (size_t l = 0; l < MatchLimbs(context().params()); ++l) {
        for (size_t i = 0; i < n; ++i) {
          const size_t row = l * (n / ring::kTile) + i / ring::kTile;
          c.parts[p].limb(l)[i] =
              block[(row * model_->gamma * 2 + p) * ring::kTile + i % ring::kTile];
        }
      }
    }
    return instance_->encoder->Decode(ckks::Decrypt(context(), c, secret));
  };
  const std::vector<ckks::Complex> original = open(old_->secret);
  std::vector<ckks::SecretKey> keys;
  keys.push_back(Copy(old_->secret));
  constexpr int kRenewals = 16;
  for (int i = 1; i <= kRenewals; ++i) {
    Csprng rng;
    keys.push_back(*ckks::SecretKey::Generate(context(), rng));
    ASSERT_TRUE(RekeyBlock(*instance_, &block, Key(keys[i - 1], keys[i]).key).ok());
    if (i != 1 && i != kRenewals) continue;
    const std::vector<ckks::Complex> now = open(keys[i]);
    double squares = 0, worst = 0;
    for (size_t j = 0; j < now.size(); ++j) {
      squares += std::norm(now[j] - original[j]) / 2;  // of one lane
      worst = std::max(worst, std::abs(now[j].real() - original[j].real()));
    }
    const double measured = std::sqrt(squares / static_cast<double>(now.size()));
    const double predicted = std::sqrt(static_cast<double>(i)) * RekeyScoreError(*instance_);
    EXPECT_NEAR(measured / predicted, 1, 0.15) << i;
    // Both lanes' error, at a scale of 1. Most of it is roundings times the secret; their tail is
    // longer than a Gaussian's.
    EXPECT_LT(worst, ckks::SlotErrorBound(instance_->params(), {1, std::sqrt(2.0) * predicted}, 1))
        << i;
    RecordProperty(absl::StrCat("rms_after_", i), absl::StrCat(measured));
  }
}

TEST_F(RekeyTest, TheOldKeyDecryptsNothing) {
  Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
  ASSERT_TRUE(RekeyGallery(&gallery, *instance_, Key(old_->secret, next_->secret)).ok());
  const EncryptedScores scores = *next_->server->Identify(
      *next_->server->OpenGallery(directory_, false), Set(*next_, {0}, true), {});
  const KeyOwner owner = *KeyOwner::Impl::Own(*model_, SecretKeys(Copy(old_->secret)));
  EXPECT_EQ(owner.Open(SerializeScores(context(), scores), "scores").status().code(),
            absl::StatusCode::kFailedPrecondition);
  // Nor can the old scores be decrypted by the new key directly: the result is uniform, so as large
  // as the modulus allows and unrelated to the scores.
  const auto right =
      instance_->encoder->Decode(ckks::Decrypt(context(), scores.replies[0].scores, next_->secret));
  const auto wrong =
      instance_->encoder->Decode(ckks::Decrypt(context(), scores.replies[0].scores, old_->secret));
  EXPECT_NEAR(right[0].real(), 1, 0.2);
  double squares = 0;
  for (const ckks::Complex& slot : wrong) squares += std::norm(slot);
  const double q = instance_->params().modulus(0).value();
  const double uniform =
      q / std::sqrt(12.0) * std::sqrt(instance_->params().n()) / scores.replies[0].scores.scale;
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(wrong.size())) / uniform, 1, 0.1);
}

TEST_F(RekeyTest, RevokedKeysAreRefused) {
  Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
  ASSERT_TRUE(RekeyGallery(&gallery, *instance_, Key(old_->secret, next_->secret)).ok());
  // A server that still has the old keys, and clients that still encrypt under them.
  const auto opened = old_->server->OpenGallery(directory_, false);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("was revoked"));
  EXPECT_THAT(
      std::string(
          EnrolDirectly(*old_->server, directory_, Set(*old_, {99}, true)).status().message()),
      HasSubstr("was revoked"));
  const auto samples =
      next_->server->Identify(*Gallery::Impl::Open(directory_), Set(*old_, {0}, true), {});
  EXPECT_EQ(samples.status().code(), absl::StatusCode::kFailedPrecondition);
  // The same key a second time, one from elsewhere, and the way back.
  EXPECT_EQ(RekeyGallery(&gallery, *instance_, Key(old_->secret, next_->secret)).code(),
            absl::StatusCode::kFailedPrecondition);
  const absl::Status back = RekeyGallery(&gallery, *instance_, Key(next_->secret, old_->secret));
  EXPECT_EQ(back.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(back.message()), HasSubstr("leads back"));
  EXPECT_EQ(Gallery::Impl::Open(directory_)->revoked_keys(),
            std::vector<ckks::KeyId>{old_->secret.key_id()});
}

TEST_F(RekeyTest, AnInterruptedRenewalLeavesTheGalleryAsItWas) {
  const RekeyingKey key = Key(old_->secret, next_->secret);
  // More blocks than a transaction holds, so some of them have been written when it fails.
  constexpr size_t kBlocks = 18;
  MakeSparse(kBlocks);
  const State before = Now();
  Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
  ASSERT_EQ(gallery.blocks(), kBlocks);
  for (size_t stop = 0; stop <= kBlocks; ++stop) {
    EXPECT_EQ(
        RekeyGallery(&gallery, *instance_, key, [&](size_t done, size_t) { return done != stop; })
            .code(),
        absl::StatusCode::kCancelled);
    EXPECT_EQ(Now(), before) << stop;
    EXPECT_EQ(gallery.binding().key_id, old_->secret.key_id());
  }
  EXPECT_GT(StoredBlocks(), kBlocks) << "no attempt came as far as to write something";
  const absl::Status moved = RekeyGallery(&gallery, *instance_, key);
  ASSERT_TRUE(moved.ok()) << moved;
  EXPECT_EQ(Now().key_id, next_->secret.key_id());
  EXPECT_EQ(Now().identities, before.identities);
  EXPECT_EQ(StoredBlocks(), kBlocks) << "what the attempts and the old key left is gone";
}

TEST_F(RekeyTest, ADiskThatRefusesLeavesTheOldGalleryOrTheNewOne) {
  const RekeyingKey key = Key(old_->secret, next_->secret);
  bool left_old = false, left_new = false;
  for (int failing = 1;; ++failing) {
    SCOPED_TRACE(failing);
    SetUp();
    const State before = Now();
    Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
    g_flushes = 0;
    g_failing_flush = failing;
    const absl::Status status = RekeyGallery(&gallery, *instance_, key);
    const bool failed = g_flushes >= failing;
    g_failing_flush = 0;
    if (!failed) {
      EXPECT_TRUE(status.ok()) << status;
      break;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    const State after = Now();
    EXPECT_EQ(gallery.binding().key_id, after.key_id) << "it shows what has come of it";
    if (after.key_id == old_->secret.key_id()) {
      left_old = true;
      EXPECT_EQ(after, before);
      EXPECT_TRUE(RekeyGallery(&gallery, *instance_, key).ok()) << "the next attempt";
      EXPECT_EQ(Now().key_id, next_->secret.key_id());
    } else {
      left_new = true;
      EXPECT_EQ(after.key_id, next_->secret.key_id());
      EXPECT_THAT(std::string(status.message()), HasSubstr("has moved to key"));
    }
    EXPECT_TRUE(next_->server->OpenGallery(directory_, false).ok());
    EXPECT_TRUE(gallery.ReadBlock(*instance_, 0).ok());
  }
  EXPECT_TRUE(left_old);
  EXPECT_TRUE(left_new);
}

TEST_F(RekeyTest, NothingUnderTheOldKeyIsLeftInTheFile) {
  const std::vector<std::vector<uint8_t>> old = Ciphertexts();
  ASSERT_EQ(old.size(), 1 + kPeople) << "a block, and what may be taken back from it";
  EXPECT_TRUE(InTheFile(old)) << "otherwise this test would see nothing";
  Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
  const absl::Status moved = RekeyGallery(&gallery, *instance_, Key(old_->secret, next_->secret));
  ASSERT_TRUE(moved.ok()) << moved;
  EXPECT_FALSE(InTheFile(old));
  EXPECT_TRUE(InTheFile(Ciphertexts()));
}

TEST_F(RekeyTest, WhoStillReadsTheOldStateDelaysItsErasureAlone) {
  const RekeyingKey key = Key(old_->secret, next_->secret);
  const std::vector<std::vector<uint8_t>> old = Ciphertexts();
  Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
  std::optional<Gallery::Impl> stale = *Gallery::Impl::Open(directory_);
  const TiledCiphertexts seen = *stale->ReadBlock(*instance_, 0);
  SetWriterWait(0);
  const absl::Status moved = RekeyGallery(&gallery, *instance_, key);
  SetWriterWait(60);
  EXPECT_EQ(moved.code(), absl::StatusCode::kUnavailable) << moved;
  EXPECT_THAT(std::string(moved.message()), HasSubstr("has moved to key"));
  EXPECT_EQ(gallery.binding().key_id, next_->secret.key_id());
  EXPECT_EQ(Now().key_id, next_->secret.key_id());
  // The holder still reads its old state, and cannot change anything.
  EXPECT_EQ(*stale->ReadBlock(*instance_, 0), seen);
  EXPECT_EQ(RekeyGallery(&*stale, *instance_, key).code(), absl::StatusCode::kFailedPrecondition);
  stale.reset();
  GalleryChange change = *GalleryChange::Begin(gallery, /*start=*/false);
  ASSERT_TRUE(change.EraseRemains().ok());
  EXPECT_FALSE(InTheFile(old));
}

TEST_F(RekeyTest, OfTwoRenewalsOneTakesPlace) {
  Csprng rng;
  const ckks::SecretKey third = *ckks::SecretKey::Generate(context(), rng);
  const RekeyingKey to_next = Key(old_->secret, next_->secret), to_third = Key(old_->secret, third);
  absl::Status first, second;
  std::thread other([&] {
    Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
    second = RekeyGallery(&gallery, *instance_, to_third);
  });
  {
    Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
    first = RekeyGallery(&gallery, *instance_, to_next);
  }
  other.join();
  EXPECT_NE(first.ok(), second.ok()) << first << second;
  EXPECT_EQ((first.ok() ? second : first).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Now().key_id, (first.ok() ? next_->secret : third).key_id());
  EXPECT_EQ(StoredBlocks(), 1u);
}

TEST_F(RekeyTest, KeyFilesNoticeDamageAndOtherParameters) {
  Csprng rng;
  const auto key = ckks::MakeRekeyingKey(context(), old_->secret, next_->secret, 2, rng);
  const ckks::KeyId from = old_->secret.key_id(), to = next_->secret.key_id();
  const std::vector<uint8_t> good = SerializeRekeyingKey(context(), from, to, key);
  for (size_t size : {size_t{0}, size_t{30}, good.size() / 2, good.size() - 1}) {
    const std::vector<uint8_t> cut(good.begin(), good.begin() + size);
    EXPECT_EQ(ParseRekeyingKey(context(), cut, "cut").status().code(), absl::StatusCode::kDataLoss);
  }
  std::vector<uint8_t> flipped = good;
  flipped[good.size() / 3] ^= 1;
  EXPECT_EQ(ParseRekeyingKey(context(), flipped, "flipped").status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(ParseRekeyingKey(context(), SerializeRekeyingKey(context(), from, from, key), "loop")
                .status()
                .code(),
            absl::StatusCode::kDataLoss);
  const auto low = ckks::MakeRekeyingKey(context(), old_->secret, next_->secret, 1, rng);
  EXPECT_EQ(ParseRekeyingKey(context(), SerializeRekeyingKey(context(), from, to, low), "low")
                .status()
                .code(),
            absl::StatusCode::kDataLoss);
  const ckks::Context other(*ckks::Params::Create(FindProfile("standard")->spec));
  EXPECT_EQ(ParseRekeyingKey(other, good, "other").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace heft
