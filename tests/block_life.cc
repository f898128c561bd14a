// SPDX-License-Identifier: Apache-2.0
// The life of a block with real ciphertexts. People join an open block and leave it again without a
// trace. They settle in another block, and leave it, by exchanges with the key owner. At the end
// everything is decrypted, and the errors of each position are compared with the predictions of
// gallery/added_error.h. The program prints its measurements and the processor time of each step.
// It exits with 1 if errors are larger than predicted, or if a removed person is found.
//
//   block_life [--changes N] [--settle N] [--profile NAME] [--gamma G]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "ckks/bounded_encoder.h"
#include "experiment/stopwatch.h"
#include "fusion/block_internal.h"
#include "fusion/errors.h"
#include "fusion/owner/renewal.h"
#include "fusion/renewal.h"
#include "fusion/rings.h"
#include "fusion/testing.h"
#include "gallery/added_error.h"
#include "gallery/renewal.h"

namespace heft {
namespace {

using experiment::Stopwatch;

struct Options {
  size_t changes = 2000;
  uint32_t settle = 64;  // additions to the open block
  std::string profile = "standard";
  uint32_t gamma = 32;
};

[[noreturn]] void Die(const std::string& why) {
  std::cerr << "block_life: " << why << "\n";
  std::exit(2);
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) Die(value.status().ToString());
  return *std::move(value);
}
void Must(const absl::Status& status) {
  if (!status.ok()) Die(status.ToString());
}

// Step: the total processor time of so many calls.
struct Step {
  const char* name;
  double milliseconds = 0;
  size_t calls = 0;
};

class Life {
 public:
  explicit Life(const Options& options)
      : options_(options),
        model_(testing::RandomModel({128, 128}, options.gamma, 3, options.profile)),
        matching_(Must(MakeRings(model_)).matching),
        encoder_(matching_.context),
        secret_(Must(ckks::SecretKey::Generate(context(), rng_))),
        costs_(ErrorCostsOf(matching_)) {
    keys_ = testing::MakeKeys(context(), matching_.plan.keys, secret_, rng_);
    for (Block& block : blocks_) {
      block.ciphertexts = EmptyBlock(context(), model_.gamma);
      block.clean.assign(positions(), 0);
      block.person.assign(positions(), kNobody);
    }
  }

  bool Run() {
    for (size_t i = 0; i < options_.changes; ++i) {
      // At the end the block is half full, and as many people have left.
      if (people_.empty() || random_() % 8 < 5) {
        Join();
      } else {
        Leave(random_() % people_.size());
      }
    }
    for (const Step* step : {&join_, &take_, &pad_, &write_, &read_, &renew_, &finish_}) {
      if (step->calls == 0) continue;
      std::printf("%-32s %8.2f ms of processor time, %zu calls\n", step->name,
                  step->milliseconds / double(step->calls), step->calls);
    }
    return Measure();
  }

 private:
  static constexpr size_t kNobody = ~size_t{0};
  struct Block {
    TiledCiphertexts ciphertexts;
    double added = 0;
    std::vector<double> clean;  // by position
    std::vector<size_t> person;
  };
  struct Person {
    std::vector<double> vector;
    ckks::Ciphertext fused;
    size_t block;  // 0: the open block, 1: the block where people settle
    uint32_t position;
  };

  const ckks::Context& context() const { return *matching_.context; }
  uint32_t slots() const { return context().slots(); }
  uint32_t positions() const { return 2 * slots(); }

  template <typename Call>
  auto Timed(Step& step, const Call& call) {
    const Stopwatch watch(Stopwatch::kProcess);
    auto result = call();
    step.milliseconds += watch.Milliseconds();
    ++step.calls;
    return result;
  }

  uint32_t FreePosition(const Block& block) {
    uint32_t p = static_cast<uint32_t>(random_() % positions());
    while (block.person[p] != kNobody) p = (p + 1) % positions();
    return p;
  }

  void Join() {
    Block& open = blocks_[0];
    Person person;
    person.vector = testing::RandomUnit(model_.gamma, random_);
    ckks::WideSlots values = encoder_.NewSlots();
    for (uint32_t j = 0; j < slots(); ++j) values.high[j] = person.vector[j % model_.gamma];
    const auto plain = Must(encoder_.Encode(values, 1, matching_.plan.matching.template_scale,
                                            TemplateLimbs(matching_.params())));
    person.fused = ckks::Expand(context(), ckks::EncryptSymmetric(context(), plain, secret_, rng_));
    person.block = 0;
    person.position = FreePosition(open);
    const NewTemplate added = {&person.fused, PositionOf(person.position, slots())};
    Must(Timed(join_, [&] {
      return AddToBlock(matching_, &open.ciphertexts, {&added, 1}, keys_);
    }));
    open.added += costs_.addition;
    open.person[person.position] = people_.size();
    people_.push_back(std::move(person));
    if (++joined_ % options_.settle == 0) Settle();
  }

  // Moves everybody in the open block to the other block, which is thereby renewed.
  void Settle() {
    std::vector<Move> moves;
    for (uint32_t p = 0; p < positions(); ++p) {
      if (blocks_[1].person[p] != kNobody) moves.push_back({1, p, p});
    }
    Block& to = blocks_[1];
    const double target = to.added + costs_.exchange;
    for (Person& person : people_) {
      if (person.block != 0) continue;
      const uint32_t p = FreePosition(to);
      moves.push_back({0, person.position, p});
      to.person[p] = blocks_[0].person[person.position];
      to.clean[p] = MovedClean(costs_, blocks_[0].added, blocks_[0].clean[person.position], target);
      person.block = 1;
      person.position = p;
    }
    Exchange({&blocks_[0], &to}, moves);
    blocks_[0].ciphertexts = EmptyBlock(context(), model_.gamma);
    blocks_[0].added = 0;
    std::ranges::fill(blocks_[0].person, kNobody);
  }

  void Leave(size_t i) {
    const Person& person = people_[i];
    Block& block = blocks_[person.block];
    block.person[person.position] = kNobody;
    if (person.block == 0) {
      const NewTemplate taken = {&person.fused, PositionOf(person.position, slots())};
      Must(Timed(take_, [&] {
        return TakeFromBlock(matching_, &block.ciphertexts, {&taken, 1}, keys_);
      }));
      block.added -= costs_.addition;
    } else {
      std::vector<Move> moves;
      for (uint32_t p = 0; p < positions(); ++p) {
        if (block.person[p] != kNobody) moves.push_back({0, p, p});
      }
      Exchange({&block}, moves);
    }
    people_[i] = std::move(people_.back());
    people_.pop_back();
    if (i < people_.size()) blocks_[people_[i].block].person[people_[i].position] = i;
  }

  // Moves into the last of `sources`, through the messages.
  void Exchange(const std::vector<Block*>& sources, const std::vector<Move>& moves) {
    Block& target = *sources.back();
    const Seed seed = rng_.NewSeed();
    RenewalRequest request;
    request.binding = BindingOf(matching_, model_, secret_.key_id());
    request.targets = {moves};
    for (size_t i = 0; i < sources.size(); ++i) {
      request.sources.push_back(Must(Timed(
          pad_, [&] { return PadBlock(matching_, sources[i]->ciphertexts, seed, i, keys_); })));
    }
    const std::vector<uint8_t> bytes =
        Timed(write_, [&] { return SerializeRenewalRequest(matching_, request); });
    const auto read =
        Must(Timed(read_, [&] { return ParseRenewalRequest(matching_, bytes, "request"); }));
    Renewal renewal;
    renewal.binding = request.binding;
    renewal.targets.push_back(Must(Timed(
        renew_, [&] { return RenewBlock(matching_, secret_, read.sources, read.targets[0]); })));
    const std::vector<uint8_t> answer = SerializeRenewal(matching_, renewal);
    target.ciphertexts = Must(Timed(finish_, [&]() -> absl::StatusOr<TiledCiphertexts> {
      const auto parsed = ParseRenewal(matching_, answer, "answer");
      if (!parsed.ok()) return parsed.status();
      return FinishBlock(matching_, parsed->targets[0], seed, moves);
    }));
    target.added += costs_.exchange;
    for (uint32_t p = 0; p < positions(); ++p) {
      if (target.person[p] == kNobody) target.clean[p] = target.added;
    }
    if (bytes_ == 0) {
      bytes_ = bytes.size() + answer.size();
      std::printf("request %zu bytes a block, answer %zu\n", bytes.size() / sources.size(),
                  answer.size());
    }
  }

  // Own: the variance that a template brings itself. These templates are fresh and rotated once.
  double Own() const {
    const ckks::Params& params = matching_.params();
    const double error =
        ckks::Combine(ckks::Combine(ckks::SymmetricError(params), ckks::EncodingError(params)),
                      ckks::KeySwitchError(params, TemplateLimbs(params)));
    return std::pow(error / matching_.plan.matching.template_scale, 2) / 2;
  }

  bool Measure() {
    double live_error = 0, live_predicted = 0, empty_error = 0, empty_predicted = 0;
    double worst = 0, most = 0;
    size_t live_count = 0, empty_count = 0;  // coordinates
    for (const Block& block : blocks_) {
      for (uint32_t k = 0; k < model_.gamma; ++k) {
        ckks::Ciphertext c;
        c.parts = internal::LoadTiled(context(), model_.gamma, k, block.ciphertexts);
        c.scale = matching_.plan.matching.block_scale;
        const ckks::WideSlots opened = encoder_.Decode(ckks::Decrypt(context(), c, secret_));
        for (uint32_t p = 0; p < positions(); ++p) {
          const Position at = PositionOf(p, slots());
          const uint32_t back = matching_.plan.GiantSteps(k);
          const ckks::Complex slot = opened.high[(at.slot + back) % slots()];
          const double value = SlotSign(matching_.plan, at.slot, at.lane) *
                               (at.lane == 0 ? slot.real() : slot.imag());
          const double exposure = block.added - block.clean[p];
          if (block.person[p] == kNobody) {
            empty_error += value * value;
            empty_predicted += exposure + costs_.exchange;
            ++empty_count;
            continue;
          }
          const Person& person = people_[block.person[p]];
          const double error = value - person.vector[(at.slot + k) % model_.gamma];
          ++live_count;
          live_error += error * error;
          live_predicted += exposure + Own();
          worst = std::max(worst, std::abs(error) / std::sqrt(exposure + Own()));
          most = std::max(most, exposure);
        }
      }
    }
    const double live = std::sqrt(live_error / live_predicted);
    const double empty = std::sqrt(empty_error / empty_predicted);
    std::printf("%zu people after %zu changes, exposure at most %.4f of the bound\n",
                people_.size(), options_.changes, most / costs_.bound);
    std::printf(
        "error over predicted: people %.3f, worst coordinate %.2f deviations; where nobody "
        "is %.3f\n",
        live, worst, empty);
    // A rounding times the key is a product of two Gaussians. It exceeds t deviations with
    // probability exp(-sqrt(2) t), and the variance of its square is five times the square of its
    // mean. Both coordinates of a slot share the key's factor. The bounds are the tail over all
    // coordinates, and six deviations of a mean over half as many. By chance fewer than one run in
    // 10^9 exceeds them.
    const auto mean_bound = [](size_t n) {
      return 1.1 + 3 * std::sqrt(10.0 / std::max<size_t>(n, 1));
    };
    const double tail = (std::log(1e9) + std::log(std::max<size_t>(live_count, 1))) / std::sqrt(2);
    return live < mean_bound(live_count) && worst < tail && empty < mean_bound(empty_count);
  }

  const Options options_;
  const Model model_;
  Csprng rng_;
  std::mt19937_64 random_{23};
  const Instance matching_;
  const ckks::BoundedEncoder encoder_;
  const ckks::SecretKey secret_;
  const ErrorCosts costs_;
  ckks::EvaluationKeys keys_;
  Block blocks_[2];
  std::vector<Person> people_;
  size_t joined_ = 0, bytes_ = 0;
  Step join_{"an addition"}, take_{"an exact removal"}, pad_{"padding a block"},
      write_{"writing the request"}, read_{"reading the request"}, renew_{"the key owner's answer"},
      finish_{"reading and finishing it"};
};

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const char* value = i + 1 < argc ? argv[++i] : nullptr;
    if (value != nullptr && flag == "--changes") {
      options.changes = std::strtoull(value, nullptr, 10);
    } else if (value != nullptr && flag == "--settle") {
      options.settle = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    } else if (value != nullptr && flag == "--profile") {
      options.profile = value;
    } else if (value != nullptr && flag == "--gamma") {
      options.gamma = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    } else {
      Die("usage: block_life [--changes N] [--settle N] [--profile NAME] [--gamma G]");
    }
  }
  if (options.settle == 0) Die("--settle takes 1 or more");
  return options;
}

}  // namespace
}  // namespace heft

int main(int argc, char** argv) { return heft::Life(heft::Parse(argc, argv)).Run() ? 0 : 1; }
