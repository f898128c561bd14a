// SPDX-License-Identifier: Apache-2.0
#include "matcher/combinations.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/identity.h"
#include "heft/shards.h"
#include "matcher/server_internal.h"

namespace heft {
namespace {

using internal::FirstOfEqualFiles;

absl::Status CheckIdentities(const std::vector<Combination>& combinations) {
  for (const Combination& c : combinations) {
    if (c.identity.empty()) {
      return absl::InvalidArgumentError(
          "a sample has no label: encrypt with --labels, or give --identity");
    }
    HEFT_RETURN_IF_ERROR(CheckIdentity(c.identity));
  }
  return absl::OkStatus();
}

absl::Status KeepBucket(const EnrolOptions::Bucket& bucket,
                        std::vector<Combination>* combinations) {
  std::erase_if(*combinations, [&](const Combination& c) {
    return BucketOf(c.identity, bucket.of) != bucket.index;
  });
  if (!combinations->empty()) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("no sample is of a person who belongs to bucket ", bucket.index));
}

absl::StatusOr<std::vector<Combination>> PairRows(const SampleSet& samples,
                                                  const EnrolOptions& options) {
  std::vector<Combination> out;
  const char* const equal = options.average
                                ? "--average needs the same number"
                                : "paired enrolment needs the same number (or use --all-pairs)";
  HEFT_ASSIGN_OR_RETURN(const SampleReader* first, FirstOfEqualFiles(samples, equal));
  for (size_t row = 0; row < first->size(); ++row) {
    Combination combination;
    SampleRows& rows = combination.samples.emplace_back();
    combination.identity = options.identity.empty() ? first->labels()[row] : options.identity;
    for (size_t m = 0; m < samples.modalities(); ++m) {
      const SampleReader* file = samples.modality(m);
      rows.push_back(file == nullptr ? -1 : static_cast<int64_t>(row));
      if (file == nullptr) continue;
      const std::string& label = file->labels()[row];
      const std::string& other = first->labels()[row];
      // A given identity replaces missing labels, but not labels that disagree.
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

// Every combination of one sample per modality within an identity; or of all samples, if one
// identity is given.
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
  // All templates of a call are in memory until they are committed together.
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
    return absl::InvalidArgumentError(absl::StrCat("--all-pairs would make more than ",
                                                   kMaxCombinations,
                                                   " templates: enrol them in several calls"));
  }
  std::vector<Combination> out;
  for (const auto& [identity, by_modality] : rows) {
    std::vector<Combination> partial = {{identity, {{}}}};
    for (const std::vector<int64_t>& choices : by_modality) {
      std::vector<Combination> longer;
      for (const Combination& c : partial) {
        for (int64_t row : choices) {
          longer.push_back(c);
          longer.back().samples[0].push_back(row);
        }
      }
      partial = std::move(longer);
    }
    out.insert(out.end(), partial.begin(), partial.end());
  }
  if (out.empty()) return absl::InvalidArgumentError("no identity has a sample of every modality");
  return out;
}

absl::Status TooMany(size_t samples, const std::string& identity) {
  return absl::InvalidArgumentError(absl::StrCat(
      samples, " samples of ", identity.empty() ? "one person" : absl::StrCat("\"", identity, "\""),
      ": a mean takes at most ", kMaxSamples, ": leave some of them out"));
}

// MeansOf: one combination per identity, in the order of first occurrence.
absl::StatusOr<std::vector<Combination>> MeansOf(std::vector<Combination> rows) {
  std::vector<Combination> out;
  std::map<std::string, size_t> places;
  for (Combination& row : rows) {
    const auto [place, added] = places.try_emplace(row.identity, out.size());
    if (added) {
      out.push_back(std::move(row));
      continue;
    }
    std::vector<SampleRows>& samples = out[place->second].samples;
    samples.push_back(std::move(row.samples[0]));
    if (samples.size() > kMaxSamples) return TooMany(samples.size(), row.identity);
  }
  return out;
}

}  // namespace

absl::StatusOr<std::vector<Combination>> Combine(const SampleSet& samples,
                                                 const EnrolOptions& given) {
  EnrolOptions options = given;
  if (!given.identity.empty()) {
    HEFT_ASSIGN_OR_RETURN(options.identity, NormalIdentity(given.identity));
  }
  if (options.all_pairs && options.average) {
    return absl::InvalidArgumentError("give --all-pairs or --average, not both");
  }
  HEFT_ASSIGN_OR_RETURN(std::vector<Combination> combinations, options.all_pairs
                                                                   ? AllPairs(samples, options)
                                                                   : PairRows(samples, options));
  HEFT_RETURN_IF_ERROR(CheckIdentities(combinations));
  if (options.bucket) HEFT_RETURN_IF_ERROR(KeepBucket(*options.bucket, &combinations));
  if (options.average) return MeansOf(std::move(combinations));
  return combinations;
}

absl::StatusOr<size_t> CheckOnePerson(const SampleSet& samples) {
  HEFT_ASSIGN_OR_RETURN(const SampleReader* first,
                        FirstOfEqualFiles(samples, "--average needs the same number"));
  if (first->size() > kMaxSamples) return TooMany(first->size(), "");
  const std::string& label = first->labels()[0];
  for (size_t m = 0; m < samples.modalities(); ++m) {
    const SampleReader* file = samples.modality(m);
    for (size_t row = 0; file != nullptr && row < file->size(); ++row) {
      if (file->labels()[row] == label) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "row ", row, " of ", file->what(), " is labelled \"", file->labels()[row],
          "\", the first one \"", label, "\": a mean must be of one person's samples"));
    }
  }
  return first->size();
}

}  // namespace heft
