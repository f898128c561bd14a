// SPDX-License-Identifier: Apache-2.0
#include "heft/deduplicate.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/identity.h"
#include "base/regular_file.h"
#include "gallery/exchange_folder.h"
#include "heft/files.h"
#include "heft/shards.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::vector<std::string>> Names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    names.push_back(entry->path().filename().string());
  }
  if (failed) {
    return absl::NotFoundError(absl::StrCat(folder, ": cannot be read: ", failed.message()));
  }
  std::ranges::sort(names);
  return names;
}

struct Bucket {
  uint32_t number = 0;
  Gallery gallery;
};

absl::StatusOr<std::vector<Bucket>> OpenJob(const MatchJob& job) {
  std::vector<uint32_t> numbers = job.buckets;
  if (numbers.empty()) {
    numbers.resize(job.shards->size());
    std::iota(numbers.begin(), numbers.end(), 0u);
  }
  std::vector<Bucket> out;
  for (const uint32_t number : numbers) {
    HEFT_ASSIGN_OR_RETURN(Gallery gallery, OpenBucket(job.gallery, *job.shards, number));
    out.push_back({number, std::move(gallery)});
  }
  return out;
}

// Removes leftovers of a killed process for these replies: NewFolder's names before the final one.
void RemovePartial(const std::string& exchange, const std::string& replies) {
  const std::string prefix = fs::path(replies).filename().string() + ".";
  const auto names = Names(exchange);
  if (!names.ok()) return;
  std::error_code ignored;
  for (const std::string& name : *names) {
    if (name.starts_with(prefix)) fs::remove_all(absl::StrCat(exchange, "/", name), ignored);
  }
}

// Every row of the request, of one bucket: all replies or none.
absl::Status Answer(const Server& server, const MatchJob& job, const std::string& request,
                    const std::vector<SampleFile>& files, const Request& asked,
                    const Bucket& bucket, const Monitor& monitor) {
  const std::string replies = RepliesFolder(job.folders, request, bucket.number);
  RemovePartial(job.folders.exchange, replies);
  HEFT_ASSIGN_OR_RETURN(NewFolder folder, NewFolder::Create(replies));
  HEFT_RETURN_IF_ERROR(server.IdentifyAll(
      bucket.gallery, files, {},
      [&](size_t row, std::span<const uint8_t> scores) -> absl::Status {
        HEFT_ASSIGN_OR_RETURN(
            const std::vector<uint8_t> reply,
            SignReply(*job.signer, bucket.gallery, asked, row, job.audience, scores, job.life));
        return folder.Write(ReplyName(row), reply);
      },
      monitor));
  return folder.Commit();
}

absl::Status AnswerRequest(const Server& server, const MatchJob& job, const std::string& request,
                           const std::vector<Bucket>& buckets, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<SampleFile> files,
                        ReadRequestFiles(job.folders, request));
  // The operator's own job, and not a client's request to be answered once.
  HEFT_ASSIGN_OR_RETURN(const Request asked, ReadRequest(files, nullptr, job.signer->public_key()));
  for (const Bucket& bucket : buckets) {
    if (HasAnswered(job.folders, request, bucket.number)) continue;
    HEFT_RETURN_IF_ERROR(Answer(server, job, request, files, asked, bucket, monitor));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> RequestNames(const DeduplicationFolders& folders) {
  HEFT_ASSIGN_OR_RETURN(std::vector<std::string> names, Names(folders.probes));
  for (const std::string& name : names) {
    if (name.find('.') == std::string::npos && TextFlaw(name).empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(folders.probes, "/", name,
                     ": requests are folders, and their names are plain text without a dot: keep "
                     "nothing else there"));
  }
  if (!names.empty()) return names;
  return absl::NotFoundError(absl::StrCat(
      folders.probes, ": contains no request; a request is a folder of encrypted samples"));
}

absl::StatusOr<std::vector<SampleFile>> ReadRequestFiles(const DeduplicationFolders& folders,
                                                         const std::string& request) {
  const std::string folder = absl::StrCat(folders.probes, "/", request);
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(folder));
  std::vector<SampleFile> files;
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(folder, "/", name);
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadRegularFile(path, kMaxSamplesSize));
    files.push_back({std::move(bytes), path});
  }
  return files;
}

std::string RepliesFolder(const DeduplicationFolders& folders, const std::string& request,
                          uint32_t bucket) {
  return absl::StrFormat("%s/%s.%03d", folders.exchange, request, bucket);
}
std::string DoneFile(const DeduplicationFolders& folders, const std::string& request) {
  return absl::StrCat(folders.exchange, "/", request, ".done");
}
std::string ReplyName(uint64_t row) { return absl::StrFormat("%05d.ct", row); }

bool IsDone(const DeduplicationFolders& folders, const std::string& request) {
  std::error_code ignored;
  return fs::exists(DoneFile(folders, request), ignored);
}
bool HasAnswered(const DeduplicationFolders& folders, const std::string& request, uint32_t bucket) {
  std::error_code ignored;
  return fs::is_directory(RepliesFolder(folders, request, bucket), ignored);
}

absl::StatusOr<DeduplicationProgress> MatchEach(const Server& server, const MatchJob& job,
                                                const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> requests, RequestNames(job.folders));
  HEFT_RETURN_IF_ERROR(MakeDirectories(job.folders.exchange));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Bucket> buckets, OpenJob(job));
  DeduplicationProgress progress;
  progress.requests = requests.size();
  std::vector<std::string> missing;
  for (const std::string& request : requests) {
    if (IsDone(job.folders, request)) {
      ++progress.done;
    } else if (std::ranges::all_of(buckets, [&](const Bucket& bucket) {
                 return HasAnswered(job.folders, request, bucket.number);
               })) {
      ++progress.waiting;
    } else {
      missing.push_back(request);
    }
  }
  const auto begun = std::chrono::steady_clock::now();
  for (const std::string& request : missing) {
    if (progress.waiting >= job.max_pending) break;
    HEFT_RETURN_IF_ERROR(AnswerRequest(server, job, request, buckets, monitor));
    ++progress.waiting;
    ++progress.now;
  }
  progress.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return progress;
}

}  // namespace heft
