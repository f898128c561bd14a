// SPDX-License-Identifier: Apache-2.0
// The server's enrolment: which samples belong together, and their fusion.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/identity.h"
#include "base/threads.h"
#include "fusion/fuser.h"
#include "fusion/key_files.h"
#include "matcher/combinations.h"
#include "matcher/server_impl.h"
#include "matcher/server_internal.h"

namespace heft {

namespace {

using internal::Present;
using internal::Report;

constexpr size_t kChunk = 16;      // templates fused between two calls of the progress function
constexpr uint32_t kColumns = 64;  // coordinates of a batch at a time; limits memory

// Projections of single samples. Each is made once, and kept while a combination needs it.
class ProjectedSamples {
 public:
  ProjectedSamples(const Fuser& fuser, const SampleSet& samples,
                   std::span<const Combination> combinations)
      : fuser_(fuser), samples_(samples), combinations_(combinations) {
    for (size_t i = 0; i < combinations.size(); ++i) {
      for (size_t m = 0; m < combinations[i].samples[0].size(); ++m) {
        last_use_[{m, combinations[i].samples[0][m]}] = i;
      }
    }
  }

  // Projects the samples of combinations [start, start + count), and drops those of earlier ones
  // only.
  absl::Status Hold(size_t start, size_t count) {
    std::erase_if(held_, [&](const auto& entry) { return last_use_.at(entry.first) < start; });
    std::vector<std::pair<const Sample, ckks::Ciphertext>*> missing;
    for (const Combination& c : combinations_.subspan(start, count)) {
      for (size_t m = 0; m < c.samples[0].size(); ++m) {
        const auto [entry, added] = held_.try_emplace({m, c.samples[0][m]});
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
    for (size_t m = 0; m < combinations_[index].samples[0].size(); ++m) {
      parts.push_back(&held_.at({m, combinations_[index].samples[0][m]}));
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
  if (options.average) HEFT_RETURN_IF_ERROR(CheckAverage(samples));
  return samples.fused() ? absl::OkStatus() : CheckEnrolmentKeys();
}

SampleDigest Server::Impl::DigestOf(const SampleSet& samples, const SampleRows& rows) const {
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

absl::StatusOr<ckks::Ciphertext> Server::Impl::FuseRows(const SampleSet& samples,
                                                        std::span<const SampleRows> rows) const {
  HEFT_ASSIGN_OR_RETURN(const ProbeInputs inputs, ReadSum(samples, rows));
  return FuseTemplate(samples, Present(inputs.modalities), inputs.samples);
}

absl::StatusOr<Enrolment> Server::Impl::Fuse(const SampleSet& samples,
                                             const Combination& of) const {
  Enrolment out;
  HEFT_ASSIGN_OR_RETURN(out.z, FuseRows(samples, of.samples));
  out.identity = of.identity;
  out.sample = DigestOf(samples, of.samples[0]);
  if (of.samples.size() == 1) return out;
  ByteWriter writer;
  for (const SampleRows& rows : of.samples) {
    out.parts.push_back(DigestOf(samples, rows));
    if (std::ranges::count(out.parts, out.parts.back()) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a sample of \"", of.identity, "\" is in the files twice"));
    }
    writer.Raw(out.parts.back());
  }
  const Hash hash = HashBytes(writer.bytes());
  std::copy_n(hash.begin(), out.sample.size(), out.sample.begin());
  return out;
}

absl::StatusOr<std::vector<Enrolment>> Server::Impl::FuseAll(
    const SampleSet& samples, const EnrolOptions& options, const ProgressFunction& progress) const {
  HEFT_RETURN_IF_ERROR(CheckEnrolable(samples, options));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Combination> combinations, Combine(samples, options));
  std::vector<Enrolment> out(combinations.size());
  std::vector<absl::Status> statuses(combinations.size());
  // Pairs share samples: each is projected once.
  std::optional<ProjectedSamples> projected;
  if (options.all_pairs) {
    HEFT_ASSIGN_OR_RETURN(const Fuser* fuser, EnrolmentFuser());
    projected.emplace(*fuser, samples, combinations);
  }
  auto fuse = [&](size_t i) -> absl::StatusOr<Enrolment> {
    const Combination& c = combinations[i];
    if (!projected) return Fuse(samples, c);
    HEFT_ASSIGN_OR_RETURN(const Normalised fused, projected->Fuse(i));
    HEFT_ASSIGN_OR_RETURN(ckks::Ciphertext z, ToMatchingRing(rings_, keys_->ring_switch, fused.z));
    return Enrolment{c.identity, std::move(z), DigestOf(samples, c.samples[0]), {}};
  };
  for (size_t start = 0; start < combinations.size(); start += kChunk) {
    const size_t count = std::min(kChunk, combinations.size() - start);
    if (projected) HEFT_RETURN_IF_ERROR(projected->Hold(start, count));
    ParallelFor(count, [&](size_t j) {
      const size_t i = start + j;
      auto fused = fuse(i);
      statuses[i] = fused.status();
      if (fused.ok()) out[i] = std::move(*fused);
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
  if (options.bucket) {
    return absl::InvalidArgumentError(
        "samples encrypted for bulk enrolment cannot be separated: encrypt a file for each bucket, "
        "or without --bulk");
  }
  HEFT_ASSIGN_OR_RETURN(const auto combinations, Combine(samples, options));
  BatchEnrolment out;
  for (const Combination& c : combinations) {
    out.identities.push_back(c.identity);
    out.samples.push_back(DigestOf(samples, c.samples[0]));
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
