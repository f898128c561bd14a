// SPDX-License-Identifier: Apache-2.0
#include "experiment/encrypted_samples.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiment/encrypted_scores.h"
#include "experiment/roles.h"
#include "experiment/stopwatch.h"
#include "fusion/mean.h"
#include "fusion/samples.h"

namespace heft::experiment {
namespace {

using ckks::Ciphertext;

// Probe: what is matched, and of a thin one the proof of its norm.
struct Probe {
  Ciphertext z;
  std::optional<Ciphertext> norm;
};

// One fold.
class Scorer {
 public:
  Scorer(const Monitor& monitor, const Model& model, const Dataset& dataset,
         const std::vector<DrawnPeople>& draws, const std::vector<SampleWay>& ways)
      : monitor_(monitor), model_(model), dataset_(dataset), draws_(draws), ways_(ways) {}

  absl::StatusOr<EncryptedSamples> Run() {
    HEFT_RETURN_IF_ERROR(Prepare());
    HEFT_RETURN_IF_ERROR(EncryptAll());
    out_.scores.resize(ways_.size());
    for (size_t d = 0; d < draws_.size(); ++d) HEFT_RETURN_IF_ERROR(RunDraw(d));
    for (const SampleWay& way : ways_) {
      const double of_one = Median(times_.at(way.separate ? 1 : way.enrolled));
      out_.enrol_ms.push_back(way.separate ? way.enrolled * of_one : of_one);
    }
    return std::move(out_);
  }

 private:
  // Keys, and a fuser for each number of samples.
  absl::Status Prepare() {
    const Progress progress(monitor_, "making evaluation keys");
    HEFT_ASSIGN_OR_RETURN(roles_, Roles::Create(model_, progress.Callback()));
    for (const SampleWay& way : ways_) {
      const int enrolled = way.separate ? 1 : way.enrolled;
      for (const int n : {1, enrolled, way.probe}) {
        if (fusers_.contains(n)) continue;
        HEFT_ASSIGN_OR_RETURN(Fuser fuser,
                              Fuser::Create(roles_->rings().enrolment, model_,
                                            &roles_->enrolment().keys(), static_cast<size_t>(n)));
        fusers_.emplace(n, std::make_unique<Fuser>(std::move(fuser)));
        HEFT_ASSIGN_OR_RETURN(
            ProbeFuser prober,
            ProbeFuser::Create(roles_->rings(), model_, roles_->keys(), static_cast<size_t>(n)));
        probers_.emplace(n, std::make_unique<ProbeFuser>(std::move(prober)));
      }
      means_.insert(enrolled);
      separate_ = std::max(separate_, way.separate ? way.enrolled : 1);
    }
    return absl::OkStatus();
  }

  Vectors Row(int row) const {
    Vectors out;
    for (const Modality& m : dataset_.modalities) {
      const auto values = m.features.row(row);
      out.emplace_back(values.data(), values.data() + values.size());
    }
    return out;
  }

  absl::Status EncryptAll() {
    std::map<int, std::vector<Ciphertext>*> enrol, probe;
    for (const DrawnPeople& draw : draws_) {
      for (const SampleDraw& person : draw.people) {
        for (const int row : person.enrolled) enrol[row] = &enrolled_[row];
        for (const int row : person.probes) probe[row] = &asked_[row];
      }
    }
    const auto encrypt = [&](const std::map<int, std::vector<Ciphertext>*>& rows, bool to_probe) {
      const std::vector<std::pair<int, std::vector<Ciphertext>*>> list(rows.begin(), rows.end());
      const Progress progress(monitor_, "encrypting samples");
      return ForAll(progress, list.size(), [&](size_t i) -> absl::Status {
        HEFT_ASSIGN_OR_RETURN(*list[i].second, to_probe
                                                   ? roles_->EncryptProbe(Row(list[i].first))
                                                   : roles_->EncryptSample(Row(list[i].first)));
        return absl::OkStatus();
      });
    };
    HEFT_RETURN_IF_ERROR(encrypt(enrol, false));
    HEFT_RETURN_IF_ERROR(encrypt(probe, true));
    for (size_t m = 0; m < dataset_.modalities.size(); ++m) {
      const std::vector<double> row = Row(enrol.begin()->first)[m];
      HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> file,
                            EncryptSamples(roles_->rings().enrolment, model_, m,
                                           roles_->enrolment().public_key(), {&row, 1}, {}));
      out_.sample_bytes += static_cast<double>(file.size());
    }
    return absl::OkStatus();
  }

  // The sum of the first n of `rows`.
  absl::StatusOr<std::vector<Ciphertext>> Sum(
      const ckks::Context& context, const std::map<int, std::vector<Ciphertext>>& encrypted,
      const std::vector<int>& rows, int n) const {
    std::vector<Ciphertext> sum(dataset_.modalities.size());
    for (int i = 0; i < n; ++i) {
      const std::vector<Ciphertext>& sample = encrypted.at(rows[static_cast<size_t>(i)]);
      for (size_t m = 0; m < sum.size(); ++m) {
        HEFT_RETURN_IF_ERROR(AddSample(context, sample[m], &sum[m]));
      }
    }
    return sum;
  }

  // What is enrolled of one person: the means, then single samples.
  absl::StatusOr<Ciphertext> FuseToEnrol(const std::vector<int>& rows, int n, double* ms) const {
    const Stopwatch watch;
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> sum,
                          Sum(roles_->enrolment().context(), enrolled_, rows, n));
    HEFT_ASSIGN_OR_RETURN(const Normalised fused, fusers_.at(n)->Fuse(Pointers(sum)));
    auto z = ToMatchingRing(roles_->rings(), roles_->ring_switch(), fused.z);
    *ms = watch.Milliseconds();
    return z;
  }

  absl::StatusOr<Probe> FuseToAsk(const std::vector<int>& rows, int n) const {
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> sum,
                          Sum(roles_->context(), asked_, rows, n));
    if (!roles_->rings().thin()) {
      HEFT_ASSIGN_OR_RETURN(const Normalised fused, fusers_.at(n)->Fuse(Pointers(sum)));
      HEFT_ASSIGN_OR_RETURN(Ciphertext z,
                            ToMatchingRing(roles_->rings(), roles_->ring_switch(), fused.z));
      return Probe{std::move(z), {}};
    }
    HEFT_ASSIGN_OR_RETURN(ProvenProbe fused, probers_.at(n)->Fuse(Pointers(sum)));
    return Probe{std::move(fused.z), std::move(fused.norm)};
  }

  // Templates of one person: a mean for each number of samples, and single ones from the second on
  // (the mean of one is the first).
  size_t TemplatesOfOne() const { return means_.size() + static_cast<size_t>(separate_) - 1; }
  size_t PlaceOfMean(int n) const {
    return static_cast<size_t>(std::distance(means_.begin(), means_.find(n)));
  }

  absl::Status Enrol(const DrawnPeople& draw) {
    const Progress progress(monitor_, "fusing means");
    const size_t of_one = TemplatesOfOne(), count = draw.people.size() * of_one;
    std::vector<Ciphertext> fused(count);
    std::vector<double> ms(count);
    HEFT_RETURN_IF_ERROR(ForAll(progress, count, [&](size_t i) -> absl::Status {
      const std::vector<int>& rows = draw.people[i / of_one].enrolled;
      const size_t place = i % of_one;
      if (place < means_.size()) {
        HEFT_ASSIGN_OR_RETURN(fused[i],
                              FuseToEnrol(rows, *std::next(means_.begin(), place), &ms[i]));
        return absl::OkStatus();
      }
      const std::vector<int> one = {rows[place - means_.size() + 1]};
      HEFT_ASSIGN_OR_RETURN(fused[i], FuseToEnrol(one, 1, &ms[i]));
      return absl::OkStatus();
    }));
    for (size_t i = 0; i < count; ++i) {
      const size_t place = i % of_one;
      times_[place < means_.size() ? *std::next(means_.begin(), place) : 1].push_back(ms[i]);
    }
    blocks_.clear();
    const size_t capacity = roles_->TemplatesPerBlock();
    for (size_t start = 0; start < count; start += capacity) {
      blocks_.push_back(EmptyBlock(roles_->context(), model_.gamma));
      std::vector<NewTemplate> batch;
      for (size_t i = start; i < std::min(count, start + capacity); ++i) {
        batch.push_back({&fused[i], At(i)});
      }
      HEFT_RETURN_IF_ERROR(roles_->Enrol(&blocks_.back(), batch));
    }
    out_.template_bytes =
        static_cast<double>(blocks_[0].size() * sizeof(uint32_t)) / static_cast<double>(capacity);
    return absl::OkStatus();
  }
  Position At(size_t i) const {
    const auto index = static_cast<uint32_t>(i % roles_->TemplatesPerBlock());
    return {index / 2, index % 2};
  }

  // All scores of one probe, by template.
  absl::StatusOr<std::vector<double>> Ask(const std::vector<int>& rows, int n, size_t count) const {
    HEFT_ASSIGN_OR_RETURN(const Probe probe, FuseToAsk(rows, n));
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts prepared,
                          PrepareProbe(roles_->instance(), probe.z, roles_->keys()));
    std::vector<double> scores(count);
    for (size_t b = 0; b < blocks_.size(); ++b) {
      HEFT_ASSIGN_OR_RETURN(const Ciphertext matched,
                            MatchBlock(roles_->instance(), blocks_[b], prepared, roles_->keys()));
      HEFT_ASSIGN_OR_RETURN(const Ciphertext sent, roles_->Sent(matched));
      const std::vector<double> opened =
          roles_->OpenScores(sent, probe.norm ? &*probe.norm : nullptr);
      const size_t capacity = roles_->TemplatesPerBlock();
      for (size_t i = b * capacity; i < std::min(count, (b + 1) * capacity); ++i) {
        const Position at = At(i);
        scores[i] = opened[size_t{at.lane} * roles_->params().slots() + at.slot];
      }
    }
    return scores;
  }

  absl::Status RunDraw(size_t d) {
    const DrawnPeople& draw = draws_[d];
    HEFT_RETURN_IF_ERROR(Enrol(draw));
    const size_t people = draw.people.size(), of_one = TemplatesOfOne();
    const int probes = static_cast<int>(draw.people[0].probes.size());
    // By number of samples, person and probe.
    std::map<int, std::vector<std::vector<std::vector<double>>>> scores;
    for (const SampleWay& way : ways_) scores[way.probe];
    for (auto& [n, of] : scores) {
      of.resize(people);
      const Progress progress(monitor_, absl::StrCat("matching, draw ", d + 1));
      HEFT_RETURN_IF_ERROR(ForAll(progress, people, [&, n = n](size_t a) -> absl::Status {
        const std::vector<int>& rows = draw.people[a].probes;
        for (int p = 0; p < (n == 1 ? probes : 1); ++p) {
          const std::vector<int> asked =
              n == 1 ? std::vector<int>{rows[static_cast<size_t>(p)]} : rows;
          HEFT_ASSIGN_OR_RETURN(std::vector<double> found, Ask(asked, n, people * of_one));
          of[a].push_back(std::move(found));
        }
        return absl::OkStatus();
      }));
    }
    for (size_t w = 0; w < ways_.size(); ++w) {
      const SampleWay& way = ways_[w];
      AddComparisons(
          people, way, probes,
          [&](size_t a, int p, size_t b) {
            const double* of_b = scores[way.probe][a][static_cast<size_t>(p)].data() + b * of_one;
            if (!way.separate) return of_b[PlaceOfMean(way.enrolled)];
            double best = of_b[PlaceOfMean(1)];
            for (int i = 1; i < way.enrolled; ++i) {
              best = std::max(best, of_b[means_.size() + static_cast<size_t>(i) - 1]);
            }
            return best;
          },
          &out_.scores[w]);
    }
    return absl::OkStatus();
  }

  const Monitor& monitor_;
  const Model& model_;
  const Dataset& dataset_;
  const std::vector<DrawnPeople>& draws_;
  const std::vector<SampleWay>& ways_;
  std::unique_ptr<Roles> roles_;
  std::map<int, std::unique_ptr<Fuser>> fusers_;
  std::map<int, std::unique_ptr<ProbeFuser>> probers_;
  std::set<int> means_ = {1};  // numbers of samples that are averaged
  int separate_ = 1;
  std::map<int, std::vector<Ciphertext>> enrolled_, asked_;  // by row
  std::map<int, std::vector<double>> times_;                 // by number of samples
  std::vector<TiledCiphertexts> blocks_;
  EncryptedSamples out_;
};

}  // namespace

absl::StatusOr<EncryptedSamples> ScoreSamples(const Monitor& monitor, const Model& model,
                                              const Dataset& dataset,
                                              const std::vector<DrawnPeople>& draws,
                                              const std::vector<SampleWay>& ways) {
  return Scorer(monitor, model, dataset, draws, ways).Run();
}

}  // namespace heft::experiment
