// SPDX-License-Identifier: Apache-2.0
// What a server enrols: which samples belong together, and their fusion.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/identity.h"
#include "base/threads.h"
#include "fusion/fuser.h"
#include "fusion/key_files.h"
#include "gallery/server_impl.h"
#include "gallery/server_internal.h"

namespace heft {

namespace {

using internal::FirstOfEqualFiles;
using internal::Report;

constexpr size_t kChunk = 16;      // templates fused between two calls of the progress function
constexpr uint32_t kColumns = 64;  // the same, coordinates of a batch: few are held at a time

// Rows, one a modality (-1: missing), of one template to enrol.
struct Combination {
  std::string identity;
  std::vector<int64_t> rows;
};

absl::Status CheckIdentities(const std::vector<Combination>& combinations) {
  for (const Combination& c : combinations) {
    if (c.identity.empty()) {
      return absl::InvalidArgumentError(
          "a sample without a label: encrypt with --labels, or give --identity");
    }
    HEFT_RETURN_IF_ERROR(CheckIdentity(c.identity));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Combination>> PairRows(const SampleSet& samples,
                                                  const EnrolOptions& options) {
  std::vector<Combination> out;
  HEFT_ASSIGN_OR_RETURN(
      const SampleReader* first,
      FirstOfEqualFiles(samples, "paired enrolment needs the same number (or use --all-pairs)"));
  for (size_t row = 0; row < first->size(); ++row) {
    Combination combination;
    combination.identity = options.identity.empty() ? first->labels()[row] : options.identity;
    for (size_t m = 0; m < samples.modalities(); ++m) {
      const SampleReader* file = samples.modality(m);
      combination.rows.push_back(file == nullptr ? -1 : static_cast<int64_t>(row));
      if (file == nullptr) continue;
      const std::string& label = file->labels()[row];
      const std::string& other = first->labels()[row];
      // A given identity stands in for labels that are missing, not for labels that disagree.
      const bool stands_in = !options.identity.empty() && (label.empty() || other.empty());
      if (label != other && !stands_in) {
        return absl::InvalidArgumentError(absl::StrCat("row ", row, " is labelled \"", other,
                                                       "\" in ", first->what(), " and \"", label,
                                                       "\" in ", file->what()));
      }
    }
    out.push_back(std::move(combination));
  }
  return out;
}

// Every combination of one sample a modality within an identity; of all samples, if one is given
// for them.
absl::StatusOr<std::vector<Combination>> AllPairs(const SampleSet& samples,
                                                  const EnrolOptions& options) {
  std::map<std::string, std::vector<std::vector<int64_t>>> rows;  // identity -> modality -> rows
  for (size_t m = 0; m < samples.modalities(); ++m) {
    const SampleReader* file = samples.modality(m);
    if (file == nullptr) {
      return absl::InvalidArgumentError("--all-pairs needs a file for every modality");
    }
    for (size_t row = 0; row < file->size(); ++row) {
      auto& of_identity = rows[options.identity.empty() ? file->labels()[row] : options.identity];
      of_identity.resize(samples.modalities());
      of_identity[m].push_back(static_cast<int64_t>(row));
    }
  }
  // All templates of a call are held until they are committed together.
  constexpr size_t kMaxCombinations = 16384;
  size_t total = 0;
  for (const auto& [identity, by_modality] : rows) {
    size_t product = 1;
    for (const auto& choices : by_modality) {
      product = std::min(product * choices.size(), kMaxCombinations + 1);
    }
    total = std::min(total + product, kMaxCombinations + 1);
  }
  if (total > kMaxCombinations) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--all-pairs would make more than ", kMaxCombinations, " templates: enrol in portions"));
  }
  std::vector<Combination> out;
  for (const auto& [identity, by_modality] : rows) {
    std::vector<Combination> partial = {{identity, {}}};
    for (const std::vector<int64_t>& choices : by_modality) {
      std::vector<Combination> longer;
      for (const Combination& c : partial) {
        for (int64_t row : choices) {
          longer.push_back(c);
          longer.back().rows.push_back(row);
        }
      }
      partial = std::move(longer);
    }
    out.insert(out.end(), partial.begin(), partial.end());
  }
  if (out.empty()) return absl::InvalidArgumentError("no identity has a sample of every modality");
  return out;
}

// Projections of single samples, each made once and held for as long as a combination needs it.
class ProjectedSamples {
 public:
  ProjectedSamples(const Fuser& fuser, const SampleSet& samples,
                   std::span<const Combination> combinations)
      : fuser_(fuser), samples_(samples), combinations_(combinations) {
    for (size_t i = 0; i < combinations.size(); ++i) {
      for (size_t m = 0; m < combinations[i].rows.size(); ++m) {
        last_use_[{m, combinations[i].rows[m]}] = i;
      }
    }
  }

  // Projects what combinations [start, start + count) need, and drops what only earlier ones did.
  absl::Status Hold(size_t start, size_t count) {
    std::erase_if(held_, [&](const auto& entry) { return last_use_.at(entry.first) < start; });
    std::vector<std::pair<const Sample, ckks::Ciphertext>*> missing;
    for (const Combination& c : combinations_.subspan(start, count)) {
      for (size_t m = 0; m < c.rows.size(); ++m) {
        const auto [entry, added] = held_.try_emplace({m, c.rows[m]});
        if (added) missing.push_back(&*entry);
      }
    }
    std::vector<absl::Status> statuses(missing.size());
    ParallelFor(missing.size(), [&](size_t i) {
      auto project = [&]() -> absl::Status {
        const auto [m, row] = missing[i]->first;
        HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext sample, samples_.modality(m)->Sample(row));
        HEFT_ASSIGN_OR_RETURN(missing[i]->second, ProjectAlone(fuser_, m, sample));
        return absl::OkStatus();
      };
      statuses[i] = project();
    });
    for (const absl::Status& status : statuses) HEFT_RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

  absl::StatusOr<Normalised> Fuse(size_t index) const {
    std::vector<const ckks::Ciphertext*> parts;
    for (size_t m = 0; m < combinations_[index].rows.size(); ++m) {
      parts.push_back(&held_.at({m, combinations_[index].rows[m]}));
    }
    return FuseProjected(fuser_, parts);
  }

 private:
  using Sample = std::pair<size_t, int64_t>;  // modality, row
  const Fuser& fuser_;
  const SampleSet& samples_;
  std::span<const Combination> combinations_;
  std::map<Sample, size_t> last_use_;
  std::map<Sample, ckks::Ciphertext> held_;
};

}  // namespace

absl::Status Server::Impl::CheckEnrolable(const SampleSet& samples,
                                          const EnrolOptions& options) const {
  HEFT_RETURN_IF_ERROR(CheckUse(samples, SampleUse::kEnrolment));
  const bool projected = samples.fused() || samples.encoding() == SampleEncoding::kPartial;
  if (projected && options.all_pairs) {
    return absl::InvalidArgumentError(
        "--all-pairs takes samples that the server projects: encrypt without --fuse");
  }
  return samples.fused() ? absl::OkStatus() : CheckEnrolmentKeys();
}

SampleDigest Server::Impl::DigestOf(const SampleSet& samples, std::span<const int64_t> rows) const {
  ByteWriter writer;
  for (size_t m = 0; m < samples.modalities(); ++m) {
    const bool present = rows[m] >= 0 && samples.modality(m) != nullptr;
    writer.U8(present ? 1 : 0);
    if (present) writer.Raw(samples.modality(m)->RowDigest(static_cast<size_t>(rows[m])));
  }
  const Hash hash = HashBytes(writer.bytes());
  SampleDigest digest;
  std::copy_n(hash.begin(), digest.size(), digest.begin());
  return digest;
}

absl::StatusOr<ckks::Ciphertext> Server::Impl::FuseRow(const SampleSet& samples,
                                                       std::span<const int64_t> rows) const {
  std::vector<ckks::Ciphertext> inputs(samples.modalities());
  std::vector<const ckks::Ciphertext*> pointers(samples.modalities(), nullptr);
  for (size_t m = 0; m < samples.modalities(); ++m) {
    if (rows[m] < 0) continue;
    HEFT_ASSIGN_OR_RETURN(inputs[m], samples.modality(m)->Sample(rows[m]));
    pointers[m] = &inputs[m];
  }
  return FuseTemplate(samples, pointers);
}

absl::StatusOr<std::vector<Enrolment>> Server::Impl::FuseAll(
    const SampleSet& samples, const EnrolOptions& options, const ProgressFunction& progress) const {
  HEFT_RETURN_IF_ERROR(CheckEnrolable(samples, options));
  HEFT_ASSIGN_OR_RETURN(
      const std::vector<Combination> combinations,
      options.all_pairs ? AllPairs(samples, options) : PairRows(samples, options));
  HEFT_RETURN_IF_ERROR(CheckIdentities(combinations));
  std::vector<Enrolment> out(combinations.size());
  std::vector<absl::Status> statuses(combinations.size());
  // Pairs share samples: each is projected once.
  std::optional<ProjectedSamples> projected;
  if (options.all_pairs) {
    HEFT_ASSIGN_OR_RETURN(const Fuser* fuser, EnrolmentFuser());
    projected.emplace(*fuser, samples, combinations);
  }
  auto fuse = [&](size_t i) -> absl::StatusOr<ckks::Ciphertext> {
    if (!projected) return FuseRow(samples, combinations[i].rows);
    HEFT_ASSIGN_OR_RETURN(const Normalised fused, projected->Fuse(i));
    return ToMatchingRing(rings_, keys_->ring_switch, fused.z);
  };
  for (size_t start = 0; start < combinations.size(); start += kChunk) {
    const size_t count = std::min(kChunk, combinations.size() - start);
    if (projected) HEFT_RETURN_IF_ERROR(projected->Hold(start, count));
    ParallelFor(count, [&](size_t j) {
      const size_t i = start + j;
      auto z = fuse(i);
      statuses[i] = z.status();
      if (z.ok()) {
        out[i] = {combinations[i].identity, std::move(*z), DigestOf(samples, combinations[i].rows)};
      }
    });
    for (size_t i = start; i < start + count; ++i) HEFT_RETURN_IF_ERROR(statuses[i]);
    HEFT_RETURN_IF_ERROR(Report(progress, start + count, combinations.size()));
  }
  return out;
}

absl::StatusOr<BatchEnrolment> Server::Impl::FuseBulk(const SampleSet& samples,
                                                      const EnrolOptions& options,
                                                      const ProgressFunction& progress) const {
  HEFT_RETURN_IF_ERROR(CheckEnrolable(samples, options));
  if (options.all_pairs) {
    return absl::InvalidArgumentError(
        "samples encrypted for bulk enrolment stay paired row by row: to enrol all pairs, encrypt "
        "without --bulk");
  }
  HEFT_ASSIGN_OR_RETURN(const auto combinations, PairRows(samples, options));
  HEFT_RETURN_IF_ERROR(CheckIdentities(combinations));
  BatchEnrolment out;
  for (const Combination& c : combinations) {
    out.identities.push_back(c.identity);
    out.samples.push_back(DigestOf(samples, c.rows));
  }
  size_t total = 0, done = 0;
  for (size_t m = 0; m < samples.modalities(); ++m) {
    if (samples.modality(m) != nullptr) total += model_.modalities[m].dimension;
  }
  HEFT_ASSIGN_OR_RETURN(BulkFuser fuser,
                        BulkFuser::Create(rings_.enrolment, model_, &enrolment_keys()));
  for (size_t m = 0; m < samples.modalities(); ++m) {
    const SampleReader* file = samples.modality(m);
    if (file == nullptr) continue;
    for (uint32_t first = 0; first < model_.modalities[m].dimension; first += kColumns) {
      const uint32_t count = std::min(kColumns, model_.modalities[m].dimension - first);
      std::vector<ckks::Ciphertext> columns(count);
      std::vector<absl::Status> statuses(count);
      ParallelFor(count, [&](size_t d) {
        auto column = file->Coordinate(first + d);
        statuses[d] = column.status();
        if (column.ok()) columns[d] = std::move(*column);
      });
      for (const absl::Status& status : statuses) HEFT_RETURN_IF_ERROR(status);
      HEFT_RETURN_IF_ERROR(fuser.Add(m, first, columns));
      done += count;
      HEFT_RETURN_IF_ERROR(Report(progress, done, total));
    }
  }
  HEFT_ASSIGN_OR_RETURN(out.batch, fuser.Finish(static_cast<uint32_t>(out.identities.size())));
  return out;
}

}  // namespace heft
