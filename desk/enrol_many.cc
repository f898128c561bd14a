// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/progress.h"
#include "base/status.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"

namespace heft {
namespace {

// kFewestInBulk: below it a ciphertext a row is less than one a coordinate (docs/design.md,
// "Bulk").
constexpr size_t kFewestInBulk = 20;

struct Rows {
  std::span<const Samples> modalities;
  std::vector<size_t> dimensions;
  std::span<const std::string> labels;
};

// CheckTogether: another batch would bring an identity that the gallery has by then.
absl::Status CheckTogether(std::span<const std::string> labels) {
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0, first = 0; i < labels.size(); ++i) {
    if (i > 0 && labels[i] == labels[i - 1]) {
      if (i - first < kMaxBulkRows) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", labels[i], "\" has more than ", kMaxBulkRows, " rows: enrol fewer rows of it"));
    }
    first = i;
    if (seen.insert(labels[i]).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("row ", i, " (from 0) is \"", labels[i],
                     "\" occurs again: put the rows of an identity together"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Rows> Check(const Model& model, std::span<const Samples> modalities) {
  if (modalities.empty()) return absl::InvalidArgumentError("no modality: give at least one");
  Rows rows{modalities, {}, modalities[0].labels};
  if (rows.labels.empty()) return absl::InvalidArgumentError("each row needs a label: give labels");
  for (const Samples& samples : modalities) {
    HEFT_ASSIGN_OR_RETURN(const size_t index, model.FindModality(samples.modality));
    const size_t dimension = model.modalities[index].dimension;
    if (samples.values.size() != dimension * rows.labels.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          std::string(samples.modality), ": ", samples.values.size(), " values given for ",
          rows.labels.size(), " labels and dimension ", dimension));
    }
    rows.dimensions.push_back(dimension);
  }
  HEFT_RETURN_IF_ERROR(CheckTogether(rows.labels));
  return rows;
}

// EndOfBatch: where the one ends that begins at `begin`; no identity is in two.
size_t EndOfBatch(std::span<const std::string> labels, size_t begin) {
  size_t end = std::min(begin + kMaxBulkRows, labels.size());
  if (end == labels.size()) return end;
  while (labels[end] == labels[end - 1]) --end;
  return end;
}

absl::StatusOr<std::vector<SampleFile>> Encrypt(const Client& client, const Rows& rows,
                                                size_t begin, size_t end) {
  std::vector<SampleFile> files;
  for (size_t m = 0; m < rows.modalities.size(); ++m) {
    const size_t dimension = rows.dimensions[m];
    Samples part{rows.modalities[m].modality,
                 rows.modalities[m].values.subspan(begin * dimension, (end - begin) * dimension),
                 rows.labels.subspan(begin, end - begin)};
    if (end - begin >= kFewestInBulk) part.encoding = SampleEncoding::kBulk;
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, client.Encrypt(part));
    files.push_back({std::move(bytes), std::string(part.modality)});
  }
  return files;
}

// Activate: until the key owner decides nothing any more.
absl::Status Activate(const Server& server, const std::string& gallery,
                      const EnrolManyOptions& options, const Monitor& monitor,
                      EnrolManyResult* total) {
  for (size_t decided = 1; decided > 0 && total->pending > 0;) {
    Desk desk(server, options.trust, SignerKey{});
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> request,
                          desk.Pending(gallery, PendingLimit{}));
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> answer, options.approve(request));
    Trust signer;
    if (options.trust == nullptr) {
      HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(answer, "admission"));
      HEFT_RETURN_IF_ERROR(signer.Add(Role::kKeyOwner, "the key owner", file.signer));
      desk.trust = &signer;
    }
    HEFT_ASSIGN_OR_RETURN(const ActivateResult done,
                          desk.Activate(gallery, answer, "admission", monitor));
    decided = done.activated + done.rejected;
    total->activated += done.activated;
    total->rejected += done.rejected;
    total->pending = done.pending;
    total->templates = done.templates;
    total->blocks = done.blocks;
  }
  return absl::OkStatus();
}

// DecideRest: what waits where all rows have been brought.
absl::Status DecideRest(const Server& server, const std::string& gallery,
                        const EnrolManyOptions& options, const Monitor& monitor,
                        EnrolManyResult* total) {
  HEFT_ASSIGN_OR_RETURN(const Gallery newest, Gallery::Open(gallery));
  total->templates = newest.size();
  HEFT_ASSIGN_OR_RETURN(const auto waiting, PendingEnrolments(gallery));
  for (const auto& enrolment : waiting) total->pending += enrolment.identities.size();
  return Activate(server, gallery, options, monitor, total);
}

absl::Status EnrolBatch(const Client& client, const Server& server, const std::string& gallery,
                        const Rows& rows, size_t begin, size_t end, const EnrolManyOptions& options,
                        const Monitor& monitor, EnrolManyResult* total) {
  HEFT_ASSIGN_OR_RETURN(std::vector<SampleFile> files, Encrypt(client, rows, begin, end));
  HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
  EnrolOptions enrol;
  enrol.metadata = options.metadata;
  enrol.expires = options.expires;
  HEFT_ASSIGN_OR_RETURN(const EnrolResult done,
                        server.Enrol(gallery, std::move(files), enrol, monitor));
  total->brought += done.brought;
  total->pending = done.pending;
  total->templates = done.templates;
  total->blocks = done.blocks;
  return absl::OkStatus();
}

// From: the error, with the row to go on from where batches have been taken.
absl::Status From(const absl::Status& status, size_t first, size_t row) {
  if (status.ok() || row == first) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), "; the rows before row ", row,
                                                  " (from 0) are enrolled: continue from it"));
}

}  // namespace

absl::StatusOr<EnrolManyResult> EnrolMany(const Client& client, const Server& server,
                                          const std::string& gallery,
                                          std::span<const Samples> modalities,
                                          const EnrolManyOptions& options, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Rows rows, Check(client.model(), modalities));
  const size_t size = rows.labels.size();
  if (options.from > size || (options.from == size && !options.approve)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot begin at row ", options.from, " of ", size, ": there is none"));
  }
  EnrolManyResult total;
  size_t next = 0;
  size_t& taken = options.next == nullptr ? next : *options.next;
  taken = options.from;
  const Progress progress(monitor, "enrolling");
  // Inner steps only ask whether to continue; progress is shown in rows.
  Monitor inner;
  if (monitor) inner = [&monitor](const ProgressEvent&) { return !Stopped(monitor); };
  if (options.from == size) {
    HEFT_RETURN_IF_ERROR(DecideRest(server, gallery, options, inner, &total));
  }
  for (size_t begin = options.from, end; begin < size; begin = end) {
    end = EndOfBatch(rows.labels, begin);
    HEFT_RETURN_IF_ERROR(From(progress.Step(begin, size), options.from, begin));
    HEFT_RETURN_IF_ERROR(
        From(EnrolBatch(client, server, gallery, rows, begin, end, options, inner, &total),
             options.from, begin));
    taken = end;
    if (!options.approve) continue;
    HEFT_RETURN_IF_ERROR(
        From(Activate(server, gallery, options, inner, &total), options.from, end));
  }
  progress.Update(size, size);
  return total;
}

}  // namespace heft
