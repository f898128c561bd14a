// SPDX-License-Identifier: Apache-2.0
// The exchange of a renewal by its messages and the public class of the key owner, and the requests
// that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ckks/bounded_encoder.h"
#include "fusion/block_internal.h"
#include "fusion/key_files.h"
#include "gallery/renewal.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using StatusCode = absl::StatusCode;

class RenewTest : public testing::RolesTest {
 protected:
  void SetUp() override {
    auto keys = ParseEvaluationKeys(*matching_.context, *roles_.owner.EvaluationKeys(), "keys");
    ASSERT_TRUE(keys.ok()) << keys.status();
    keys_ = std::move(*keys);
    ASSERT_TRUE(trust_.Add(Role::kKeyOwner, "owner", owner_->Signer()->public_key()).ok());
    ASSERT_TRUE(trust_.Add(Role::kServer, "server", server_key_.public_key()).ok());
  }
  uint32_t slots() const { return matching_.params().slots(); }
  const ckks::SecretKey& secret() const { return Inside::Of(*owner_).key(); }

  // A block whose templates, at `positions`, have all coordinates value / 4.
  TiledCiphertexts Block(const std::map<uint32_t, double>& positions) {
    TiledCiphertexts block = EmptyBlock(*matching_.context, model_.gamma);
    const ckks::BoundedEncoder encoder(matching_.context);
    for (const auto& [position, value] : positions) {
      ckks::WideSlots values = encoder.NewSlots();
      std::ranges::fill(values.high, value / 4);
      const auto plain = encoder.Encode(values, 1, matching_.plan.matching.template_scale,
                                        TemplateLimbs(matching_.params()));
      Csprng rng;
      const ckks::Ciphertext z = ckks::Expand(
          *matching_.context, ckks::EncryptSymmetric(*matching_.context, *plain, secret(), rng));
      const NewTemplate added = {&z, PositionOf(position, slots())};
      EXPECT_TRUE(AddToBlock(matching_, &block, {&added, 1}, keys_).ok());
    }
    return block;
  }
  // The value at a position, from ciphertext k.
  double Value(BlockView block, uint32_t position, uint32_t k) {
    ckks::Ciphertext c;
    c.parts = internal::LoadTiled(*matching_.context, model_.gamma, k, block);
    c.scale = matching_.plan.matching.block_scale;
    auto plain = ckks::Decrypt(*matching_.context, c, secret());
    const Position at = PositionOf(position, slots());
    const ckks::Complex slot = ckks::BoundedEncoder(matching_.context).Decode(plain).high[at.slot];
    return 4 * SlotSign(matching_.plan, at.slot, at.lane) *
           (at.lane == 0 ? slot.real() : slot.imag());
  }
  RenewalRequest Request(const std::vector<TiledCiphertexts>& blocks,
                         std::vector<std::vector<Move>> targets) {
    RenewalRequest request;
    request.binding = BindingOf(matching_, model_, owner_->key_id());
    request.gallery = {3};
    request.generation = 8;
    request.exchange = {5};
    request.targets = std::move(targets);
    for (size_t i = 0; i < blocks.size(); ++i) {
      request.sources.push_back(*PadBlock(matching_, blocks[i], seed_, i, keys_));
    }
    return request;
  }
  Bytes Serialize(const RenewalRequest& request) const {
    return SerializeRenewalRequest(matching_, request);
  }

  const Instance matching_ = MakeRings(model_)->matching;
  ckks::EvaluationKeys keys_;
  SigningKey server_key_ = *SigningKey::Generate();
  Trust trust_;
  Seed seed_ = Csprng().NewSeed();
};

TEST_P(RenewTest, TheExchangeByItsMessages) {
  const uint32_t last = 2 * slots() - 1;
  const std::vector<TiledCiphertexts> blocks = {Block({{0, 0.5}, {7, 1}, {last, -1}}),
                                                Block({{0, -0.25}, {slots(), 0.75}})};
  // The first target leaves one person out. The second gets one from each block.
  const std::vector<std::vector<Move>> targets = {{{0, 0, 0}, {0, last, last}},
                                                  {{1, slots(), 9}, {0, 7, slots() + 8}}};
  const Bytes request = Serialize(Request(blocks, targets));
  const auto renewed = owner_->Renew(request, "request");
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(renewed->blocks, 2u);
  EXPECT_EQ(renewed->templates, 4u);
  const auto file =
      OpenSigned(renewed->signed_renewal, trust_,
                 {.roles = {Role::kKeyOwner}, .kind = "RNAN", .gallery = {3}}, "answer");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->statement.generation, 8u);
  const auto answer = ParseRenewal(matching_, file->file, "answer");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->exchange, ExchangeId{5});
  EXPECT_EQ(answer->gallery, GalleryId{3});
  ASSERT_EQ(answer->targets.size(), 2u);
  const auto first = FinishBlock(matching_, answer->targets[0], seed_, targets[0]);
  const auto second = FinishBlock(matching_, answer->targets[1], seed_, targets[1]);
  ASSERT_TRUE(first.ok() && second.ok());
  for (const uint32_t k : {0u, 1u, model_.gamma - 1}) {
    EXPECT_NEAR(Value(*first, 0, k), 0.5, 1e-3);
    EXPECT_NEAR(Value(*first, last, k), -1, 1e-3);
    EXPECT_NEAR(Value(*first, 7, k), 0, 1e-3);
    EXPECT_NEAR(Value(*second, 9, k), 0.75, 1e-3);
    EXPECT_NEAR(Value(*second, slots() + 8, k), 1, 1e-3);
    EXPECT_NEAR(Value(*second, slots(), k), 0, 1e-3);
  }
  // It is not charged.
  EXPECT_EQ(owner_->Budget()->openings, 0u);
}

TEST_P(RenewTest, MessagesReadAsTheyWereWritten) {
  const uint32_t last = 2 * slots() - 1;
  const TiledCiphertexts empty = EmptyBlock(*matching_.context, model_.gamma);
  std::vector<Move> all;
  for (uint32_t p = 0; p <= last; ++p) all.push_back({1, p, p});
  RenewalRequest request =
      Request({empty, empty}, {{{0, 5, 0}, {0, last, 5}, {0, 0, last}}, all, {}});
  request.head = {1, 2, 3};
  const Bytes bytes = Serialize(request);
  const auto read = ParseRenewalRequest(matching_, bytes, "request");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->targets, request.targets);
  EXPECT_EQ(read->exchange, request.exchange);
  EXPECT_EQ(read->head, request.head);
  EXPECT_EQ(read->binding, request.binding);
  EXPECT_TRUE(std::ranges::equal(read->sources[1].ciphertexts[3].part[1].values(),
                                 request.sources[1].ciphertexts[3].part[1].values()));
  EXPECT_EQ(Serialize(*read), bytes);
  // The order in which moves are given is not kept.
  std::ranges::reverse(request.targets[0]);
  EXPECT_EQ(Serialize(request), bytes);
}

TEST_P(RenewTest, RefusesWhatIsNoRequest) {
  const TiledCiphertexts empty = EmptyBlock(*matching_.context, model_.gamma);
  const uint32_t most = 2 * slots();
  const RenewalRequest good = Request({empty}, {{{0, 1, 1}, {0, 2, 2}}});
  const auto code = [&](const RenewalRequest& request) {
    return owner_->Renew(Serialize(request), "request").status().code();
  };
  EXPECT_EQ(code(good), StatusCode::kOk);
  const std::vector<std::vector<std::vector<Move>>> bad = {
      {{{1, 1, 1}}},              // a source that is not there
      {{{0, most, 1}}},           // positions that are not
      {{{0, 1, most}}},           //
      {{{0, 1, 1}, {0, 1, 2}}},   // moves twice
      {{{0, 1, 1}, {0, 2, 1}}},   // is filled twice
      {{{0, 1, 1}}, {{0, 1, 2}}}  // moves into two targets
  };
  for (const auto& targets : bad) {
    RenewalRequest request = good;
    request.targets = targets;
    EXPECT_EQ(code(request), StatusCode::kDataLoss);
  }
  RenewalRequest other = good;
  other.binding.key_id[0] ^= 1;
  EXPECT_EQ(code(other), StatusCode::kFailedPrecondition);
  other = good;
  other.binding.model_id[0] ^= 1;
  EXPECT_EQ(code(other), StatusCode::kFailedPrecondition);
  other = good;
  other.binding.params_id[0] ^= 1;
  EXPECT_EQ(code(other), StatusCode::kFailedPrecondition);
  other = good;
  other.head = {1, 2, 3};
  EXPECT_EQ(code(other), StatusCode::kDataLoss) << "no end of a journal";
  other = good;
  other.binding.gamma *= 2;
  EXPECT_EQ(code(other), StatusCode::kDataLoss);
  Bytes bytes = Serialize(good);
  for (const size_t cut : {size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
    EXPECT_EQ(owner_->Renew(ByteSpan(bytes).first(cut), "request").status().code(),
              StatusCode::kDataLoss);
  }
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_EQ(owner_->Renew(bytes, "request").status().code(), StatusCode::kDataLoss);
  // An answer is no request.
  EXPECT_EQ(owner_->Renew(SerializeRenewal(matching_, {good.binding, {}, 0, {}, {}}), "request")
                .status()
                .code(),
            StatusCode::kDataLoss);
}

TEST_P(RenewTest, TakesRequestsOfServersAlone) {
  const TiledCiphertexts empty = EmptyBlock(*matching_.context, model_.gamma);
  const Bytes bytes = Serialize(Request({empty}, {{{0, 1, 1}}}));
  ASSERT_TRUE(owner_->RequireSigned(trust_).ok());
  EXPECT_EQ(owner_->Renew(bytes, "request").status().code(), StatusCode::kFailedPrecondition);
  const auto code = [&](const SigningKey& key, Role role, GalleryId gallery) {
    const Statement statement = {
        .role = role, .audience = owner_->Signer()->public_key(), .gallery = gallery};
    return owner_->Renew(*key.Sign(statement, bytes), "request").status().code();
  };
  EXPECT_EQ(code(server_key_, Role::kServer, {3}), StatusCode::kOk);
  EXPECT_EQ(code(server_key_, Role::kServer, {4}), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(server_key_, Role::kClient, {3}), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(*SigningKey::Generate(), Role::kServer, {3}), StatusCode::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(Profiles, RenewTest, ::testing::Values("standard", "flooded"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace heft
