// SPDX-License-Identifier: Apache-2.0
// Hostile probes by the thousand, through the public classes as anybody would use them: how often
// is one accepted? Prints a table, or JSON; exits with 1 if a kind is accepted more often than the
// one-sided 99% bound of the threshold's own false match rate allows.
//
//   hostile_suite [ATTEMPTS]         attempts in all, default 240
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>

#include "ckks/arithmetic.h"
#include "ckks/encryptor.h"
#include "fusion/key_files.h"
#include "fusion/norm_proof.h"
#include "fusion/projected.h"
#include "gallery/server_impl.h"
#include "heft/client.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "heft/train.h"
#include "ring/sampling.h"

namespace heft {
namespace {

template <typename T>
T Ok(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << "hostile_suite: " << value.status().message() << "\n";
  std::exit(2);
}

using Files = std::vector<SampleFile>;

class Suite {
 public:
  Suite()
      : root_(std::filesystem::temp_directory_path() /
              ("heft-hostile-" + std::to_string(std::random_device()()))),
        folder_(root_ / "gallery") {
    SyntheticOptions people;
    people.identities = 160;
    people.samples_per_identity = 4;
    people.dimensions = {96, 64};
    data_ = std::make_unique<TrainingData>(Ok(TrainingData::Synthesise(people)));
    model_ = Ok(Learn(*data_, {.gamma = 32, .epochs = 20}));
    rings_ = Ok(MakeRings(model_));
    owner_ = std::make_unique<KeyOwner>(Ok(KeyOwner::Generate(model_)));
    // Attempts are many, budgets are small, and they are not what is tried here.
    constexpr uint64_t kMany = uint64_t{1} << 40;
    if (!owner_->SetBudget({kMany, kMany, kMany}).ok()) std::abort();
    stranger_ = std::make_unique<KeyOwner>(Ok(KeyOwner::Generate(model_)));
    client_ = std::make_unique<Client>(Ok(Client::Create(model_, owner_->EncryptionKey())));
    server_ = std::make_unique<Server>(Ok(Server::Create(
        model_, Ok(owner_->EvaluationKeys()), "keys", Ok(owner_->EnrolmentKeys()), "keys")));
    for (size_t i = 0; i < kEnrolled; ++i) {
      Ok(server_->Enrol(folder_, Honest(i * 4, SampleUse::kEnrolment, data_->labels()[i * 4])));
    }
    gallery_ = std::make_unique<Gallery>(Ok(Gallery::Open(folder_)));
  }

  ~Suite() { std::filesystem::remove_all(root_); }
  Suite(const Suite&) = delete;
  Suite& operator=(const Suite&) = delete;

  // What a kind of probe is: its files for a use. Some kinds know the model and whom they claim.
  using Make = std::function<Files(SampleUse)>;
  struct Kind {
    const char* name;
    Make make;
  };
  std::vector<Kind> Kinds() {
    return {
        {"honest form, random direction",
         [this](SampleUse use) { return Fused(Direction(), use); }},
        {"random residues", [this](SampleUse use) { return Changed(use, Randomise); }},
        {"random residues, client-fused",
         [this](SampleUse use) {
           Files files = Fused(Direction(), use);
           return Rewritten(std::move(files), use, Randomise);
         }},
        {"a stranger, times 2 to 40",
         [this](SampleUse use) {
           const auto factor = static_cast<int64_t>(2 + random_() % 39);
           return Changed(use, [factor](const Instance& ring, ckks::Ciphertext* c) {
             ckks::MultiplyInteger(*ring.context, c, *c, factor);
           });
         }},
        {"a stranger, wrapped on purpose", [this](SampleUse use) { return Fused(Wrapped(), use); }},
        {"wrapped on purpose, complex",
         [this](SampleUse use) {
           std::vector<ckks::Complex> z;
           for (double v : Direction()) z.emplace_back(1.5 * v, 1.2 * v);
           return Slots(z, use);
         }},
        {"many vectors in one",
         [this](SampleUse use) {
           std::vector<ckks::Complex> z;
           for (size_t g = 0; g < Ring(use).params().slots() / model_.gamma; ++g) {
             for (double v : Direction()) z.emplace_back(v, 0);
           }
           return Slots(z, use);
         }},
        {"under another key", [this](SampleUse use) { return UnderAnotherKey(use); }},
        {"for the other use",
         [this](SampleUse use) {
           return Fused(Direction(), use == SampleUse::kEnrolment ? SampleUse::kIdentification
                                                                  : SampleUse::kEnrolment);
         }},
        {"transparent",
         [this](SampleUse use) {
           return Changed(use, [](const Instance&, ckks::Ciphertext* c) {
             std::ranges::fill(c->parts[1].values(), 0u);
           });
         }},
        {"spliced from two people", [this](SampleUse use) { return Spliced(use); }},
        {"one coordinate alone",
         [this](SampleUse use) {
           std::vector<double> z(model_.gamma, 0);
           z[random_() % z.size()] = random_() % 2 == 0 ? 1 : -1;
           return Fused(z, use);
         }},
    };
  }

  struct Count {
    size_t attempts = 0, refused = 0;
    size_t accepted[2] = {0, 0};  // at FMR 1e-2 and 1e-3
    size_t errors = 0;            // of the server: nothing to open
  };
  static constexpr double kRates[2] = {1e-2, 1e-3};

  void Attempt(const Kind& kind, bool verify, Count* count) {
    ++count->attempts;
    const SampleUse use = verify ? SampleUse::kEnrolment : SampleUse::kIdentification;
    const std::string claimed = data_->labels()[(random_() % kEnrolled) * 4];
    const auto reply = verify ? server_->Verify(*gallery_, kind.make(use), claimed)
                              : server_->Identify(*gallery_, kind.make(use));
    if (!reply.ok()) {
      ++count->errors;
      return;
    }
    const OpenedScores opened = Ok(owner_->Open(*reply, "reply"));
    if (!opened.refusal.empty()) ++count->refused;
    for (size_t i = 0; i < 2; ++i) {
      if (opened.Decide(Threshold(kRates[i])).accepted) ++count->accepted[i];
    }
  }

  double Threshold(double rate) const { return Ok(model_.ThresholdFor(rate)).score; }
  static constexpr size_t kEnrolled = 12;

 private:
  const Instance& Ring(SampleUse use) const {
    return use == SampleUse::kIdentification ? rings_.matching : rings_.enrolment;
  }
  std::vector<double> Direction() {
    std::normal_distribution<double> normal;
    std::vector<double> v(model_.gamma);
    double squares = 0;
    for (double& x : v) squares += (x = normal(random_)) * x;
    for (double& x : v) x /= std::sqrt(squares);
    return v;
  }
  // So long that the norm, or one of its multiples under a likely factor, comes round to 1.
  std::vector<double> Wrapped() {
    const double range = NormProofRange(rings_.matching.params(), rings_.matching.plan);
    const double sigma =
        kLeastNormFactor + (kLargestNormFactor - kLeastNormFactor) * (random_() % 1000) / 1000;
    const double wraps = 1 + static_cast<double>(random_() % 5);
    const double squared = 1 + wraps * range / (random_() % 2 == 0 ? 1 - sigma * sigma : 2 * sigma);
    std::vector<double> z = Direction();
    for (double& v : z) v *= std::sqrt(squared);
    return z;
  }
  Files Honest(size_t row, SampleUse use, const std::string& label = "") {
    Files files;
    for (size_t m = 0; m < 2; ++m) {
      files.push_back(
          {Ok(client_->Encrypt(model_.modalities[m].name, data_->Vector(m, row), label, use)),
           "sample"});
    }
    return files;
  }
  size_t Stranger() { return (kEnrolled + random_() % (160 - kEnrolled)) * 4 + random_() % 4; }

  using Change = std::function<void(const Instance&, ckks::Ciphertext*)>;
  static void Randomise(const Instance& ring, ckks::Ciphertext* c) {
    Csprng rng;
    for (ring::RnsPoly& part : c->parts) {
      for (size_t l = 0; l < part.limbs(); ++l) {
        ring::SampleUniform(part.limb(l), ring.context->modulus(l), rng);
      }
    }
  }
  Files Changed(SampleUse use, const Change& change) {
    return Rewritten(Honest(Stranger(), use), use, change);
  }
  Files Rewritten(Files files, SampleUse use, const Change& change) {
    for (SampleFile& file : files) {
      const bool small = SampleParamsId(file.bytes) == rings_.matching.params().id();
      const Instance& ring = small ? rings_.matching : Ring(use);
      const SampleReader reader = Ok(SampleReader::Parse(ring.context, file.bytes, "sample"));
      ckks::Ciphertext c = Ok(reader.Sample(0));
      change(ring, &c);
      SampleHeader header = reader.header();
      header.seeded = false;
      SampleWriter writer(*ring.context, header, reader.labels());
      writer.Add(c);
      file.bytes = writer.Finish();
    }
    return files;
  }
  Files Fused(std::span<const double> z, SampleUse use) {
    std::vector<ckks::Complex> slots(z.begin(), z.end());
    return Slots(slots, use);
  }
  // A file that claims to be fused by a client, with these values over and over in its slots.
  Files Slots(std::span<const ckks::Complex> values, SampleUse use) {
    const Instance& ring = rings_.matching;
    std::vector<ckks::Complex> slots(ring.params().slots());
    for (size_t j = 0; j < slots.size(); ++j) slots[j] = values[j % values.size()];
    const auto plain = Ok(ring.encoder->Encode(std::span<const ckks::Complex>(slots),
                                               ProjectedScale(ring, use), ring.params().limbs()));
    const auto keys = Ok(ParseEncryptionKeys(rings_, owner_->EncryptionKey(), "key"));
    Csprng rng;
    const SampleHeader header =
        MakeSampleHeader(ring, model_, 0, owner_->key_id(), false, {SampleEncoding::kFused, use});
    SampleWriter writer(*ring.context, header, std::vector<std::string>{""});
    writer.Add(ckks::Encrypt(*ring.context, plain, keys.matching(), rng));
    return {{writer.Finish(), "hostile"}};
  }
  Files UnderAnotherKey(SampleUse use) {
    const Client other = Ok(Client::Create(model_, stranger_->EncryptionKey()));
    Files files;
    for (size_t m = 0; m < 2; ++m) {
      const auto bytes =
          Ok(other.Encrypt(model_.modalities[m].name, data_->Vector(m, Stranger()), "", use));
      const Instance& ring = Ring(use);
      const SampleReader reader = Ok(SampleReader::Parse(ring.context, bytes, "sample"));
      SampleHeader header = reader.header();
      header.key_id = owner_->key_id();  // a lie
      header.seeded = false;
      SampleWriter writer(*ring.context, header, reader.labels());
      writer.Add(Ok(reader.Sample(0)));
      files.push_back({writer.Finish(), "sample"});
    }
    return files;
  }
  Files Spliced(SampleUse use) {
    Files one = Honest(Stranger(), use), other = Honest(Stranger(), use);
    one[1] = std::move(other[1]);
    return one;
  }

  std::mt19937_64 random_{11};
  std::filesystem::path root_;
  std::string folder_;
  std::unique_ptr<TrainingData> data_;
  Model model_;
  Rings rings_;
  std::unique_ptr<KeyOwner> owner_, stranger_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Gallery> gallery_;
};

// The most that may be accepted: the one-sided 99% quantile of a binomial of this rate.
size_t Allowed(size_t attempts, double rate) {
  double term = std::pow(1 - rate, static_cast<double>(attempts)), sum = term;
  size_t k = 0;
  while (sum < 0.99) {
    term *= static_cast<double>(attempts - k) / static_cast<double>(k + 1) * rate / (1 - rate);
    sum += term;
    ++k;
  }
  return k;
}

int Run(size_t attempts) {
  Suite suite;
  const auto kinds = suite.Kinds();
  const size_t each = std::max<size_t>(1, attempts / kinds.size() / 2);
  bool good = true;
  std::printf("%-34s %4s %8s %8s %8s %9s %9s\n", "kind", "", "attempts", "errors", "refused",
              "FMR 1e-2", "FMR 1e-3");
  for (const Suite::Kind& kind : kinds) {
    for (const bool verify : {true, false}) {
      Suite::Count count;
      for (size_t i = 0; i < each; ++i) suite.Attempt(kind, verify, &count);
      std::printf("%-34s %4s %8zu %8zu %8zu %9zu %9zu\n", kind.name, verify ? "1:1" : "1:N",
                  count.attempts, count.errors, count.refused, count.accepted[0],
                  count.accepted[1]);
      std::fflush(stdout);
      for (size_t i = 0; i < 2; ++i) {
        // Of 1:N each template is a chance.
        const double rate = Suite::kRates[i] * (verify ? 1 : Suite::kEnrolled);
        good &= count.accepted[i] <= Allowed(count.attempts, rate);
      }
    }
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace heft

int main(int argc, char** argv) {
  return heft::Run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 240);
}
