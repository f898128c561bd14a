// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/append_file.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/files_internal.h"
#include "base/inside.h"
#include "base/regular_file.h"
#include "fusion/samples.h"
#include "gallery/exchange_folder.h"
#include "heft/files.h"
#include "heft/openings.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

constexpr int kRosterVersion = 1;
constexpr uint64_t kMaxRecord = uint64_t{1} << 36;

// Record: the decisions, a line of JSON each, appended and flushed. It has lines for a request's
// beginning, written before the first of its replies is opened, for each of its rows, and for its
// end.
class Record {
 public:
  struct State {
    bool begun = false, ended = false;
    std::set<uint64_t> rows;  // of one that has not ended
  };

  static absl::StatusOr<Record> Open(const std::string& path, const std::string& question) {
    Record record(path);
    HEFT_ASSIGN_OR_RETURN(
        FileLock lock,
        FileLock::Take(path + ".lock", 0600, absl::StrCat(path, ": another process is at it")));
    record.lock_.push_back(std::move(lock));
    HEFT_RETURN_IF_ERROR(record.Read(question));
    return record;
  }

  const State& Of(const std::string& request) { return states_[request]; }

  absl::Status Add(const Json& line) {
    const std::string text = line.dump() + "\n";
    HEFT_RETURN_IF_ERROR(AppendToFile(path_, size_, AsBytes(text)));
    size_ += text.size();
    Take(line);
    return absl::OkStatus();
  }

  // Reads whole lines. A torn last line was never acted upon, and is ignored.
  static absl::StatusOr<uint64_t> ReadLines(const std::string& path,
                                            const std::function<absl::Status(const Json&)>& use) {
    HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxRecord));
    size_t at = 0;
    for (size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      const auto line = Json::Parse(std::string_view(text).substr(at, end - at), 4);
      if (!line.ok() || !line->is_object()) {
        return absl::DataLossError(absl::StrCat(path, ": damaged at byte ", at,
                                                ": put a copy back, or begin another record"));
      }
      HEFT_RETURN_IF_ERROR(use(*line));
    }
    return at;
  }

 private:
  explicit Record(std::string path) : path_(std::move(path)) {}

  absl::Status Read(const std::string& question) {
    if (!FileExists(path_)) return Begin(question);
    bool first = true;
    HEFT_ASSIGN_OR_RETURN(
        size_, ReadLines(path_, [&](const Json& line) -> absl::Status {
          if (first && (!line.contains("heft_deduplication") ||
                        line["heft_deduplication"] != Json(kRosterVersion))) {
            return absl::DataLossError(absl::StrCat(path_, ": no record of a deduplication"));
          }
          if (first && line["question"] != Json(question)) {
            return absl::FailedPreconditionError(
                absl::StrCat(path_, ": begun with another rule or shard list: ",
                             line["question"].get<std::string>(), "; begin another record"));
          }
          first = false;
          Take(line);
          return absl::OkStatus();
        }));
    return first ? Begin(question) : absl::OkStatus();
  }

  absl::Status Begin(const std::string& question) {
    const Json line = {{"heft_deduplication", kRosterVersion}, {"question", question}};
    const std::string text = line.dump() + "\n";
    size_ = text.size();
    return WriteFileAtomic(path_, text, 0600);
  }

  void Take(const Json& line) {
    if (const Json* begin = line.find("begin")) {
      states_[begin->get<std::string>()].begun = true;
    } else if (const Json* again = line.find("again")) {
      states_[again->get<std::string>()].begun = false;
    } else if (const Json* end = line.find("end")) {
      State& state = states_[end->get<std::string>()];
      state.ended = true;
      state.rows.clear();
    } else if (const Json* request = line.find("request")) {
      states_[request->get<std::string>()].rows.insert(line["row"].get<uint64_t>());
    }
  }

  std::string path_;
  uint64_t size_ = 0;
  std::vector<FileLock> lock_;  // one
  std::map<std::string, State> states_;
};

std::string QuestionOf(const DecideJob& job) {
  const std::string rule = job.rule.score  ? absl::StrCat("score ", *job.rule.score)
                           : job.rule.fpir ? absl::StrCat("FPIR ", *job.rule.fpir)
                                           : "no rule";
  return absl::StrCat(rule, ", buckets ",
                      HexString(HashBytes(AsBytes(job.shards->Serialize()))).substr(0, 32));
}

// Drop: replies that are not to be opened any more. They are gone at once, or all there.
void Drop(const DecideJob& job, const std::string& request) {
  std::error_code ignored;
  for (uint32_t b = 0; b < job.shards->size(); ++b) {
    const std::string folder = RepliesFolder(job.folders, request, b);
    const std::string gone = absl::StrCat(job.folders.exchange, "/.", request, ".gone");
    fs::remove_all(gone, ignored);
    fs::rename(folder, gone, ignored);
    fs::remove_all(gone, ignored);
  }
}

bool AllAnswered(const DecideJob& job, const std::string& request) {
  for (uint32_t b = 0; b < job.shards->size(); ++b) {
    if (!HasAnswered(job.folders, request, b)) return false;
  }
  return true;
}

// Probes: the probes of a request, from its own files.
struct Probes {
  std::vector<std::string> labels;
  Digest files{};
};

absl::StatusOr<Probes> ReadProbes(const KeyOwner& owner, const DecideJob& job,
                                  const std::string& request) {
  HEFT_ASSIGN_OR_RETURN(std::vector<SampleFile> files, ReadRequestFiles(job.folders, request));
  if (files.empty()) return absl::NotFoundError(absl::StrCat(request, ": a request without files"));
  Probes out;
  std::vector<std::span<const uint8_t>> views;
  for (const SampleFile& file : files) views.push_back(file.bytes);
  out.files = FilesDigest(views);
  const Rings& rings = Inside::Of(owner).rings();
  for (SampleFile& file : files) {
    const bool small = SampleParamsId(file.bytes) == rings.matching.params().id();
    HEFT_ASSIGN_OR_RETURN(const SampleReader reader,
                          SampleReader::Parse((small ? rings.matching : rings.enrolment).context,
                                              std::move(file.bytes), file.name));
    if (!out.labels.empty() && out.labels != reader.labels()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.name, ": other labels than the files beside it"));
    }
    out.labels = reader.labels();
  }
  return out;
}

// Decides one row from the replies of all buckets. Each must be to that row and no other.
absl::StatusOr<Decision> DecideRow(const KeyOwner& owner, const DecideJob& job,
                                   const std::string& request, const Probes& probes, uint64_t row) {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<std::string> names;
  for (uint32_t b = 0; b < job.shards->size(); ++b) {
    names.push_back(absl::StrCat(RepliesFolder(job.folders, request, b), "/", ReplyName(row)));
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> reply, ReadRegularFile(names.back(), kMaxReplySize));
    HEFT_ASSIGN_OR_RETURN(const SignedFile read, ReadSigned(reply, names.back()));
    if (read.statement.request != RequestDigest(probes.files, row)) {
      return absl::FailedPreconditionError(
          absl::StrCat(names.back(), ": answers another request than row ", row, " of ", request));
    }
    bytes.push_back(std::move(reply));
  }
  std::vector<ReplyFile> files;
  for (size_t i = 0; i < bytes.size(); ++i) files.push_back({bytes[i], names[i]});
  DecisionRule rule = job.rule;
  rule.others = true;
  HEFT_ASSIGN_OR_RETURN(Decision decision, owner.Decide({files, &*job.shards}, rule));
  if (decision.probe == probes.labels[row]) return decision;
  return absl::FailedPreconditionError(absl::StrCat(names[0], ": of \"", decision.probe,
                                                    "\", and row ", row, " of ", request, " is \"",
                                                    probes.labels[row], "\""));
}

absl::Status DecideRequest(const KeyOwner& owner, const DecideJob& job, const std::string& request,
                           Record* record, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Probes probes, ReadProbes(owner, job, request));
  const std::set<uint64_t> before = record->Of(request).rows;
  HEFT_RETURN_IF_ERROR(record->Add({{"begin", request}}));
  for (uint64_t row = 0; row < probes.labels.size(); ++row) {
    if (before.contains(row)) continue;
    if (monitor && !monitor({"deciding", row, probes.labels.size(), request})) {
      return absl::CancelledError("interrupted");
    }
    HEFT_ASSIGN_OR_RETURN(const Decision decision, DecideRow(owner, job, request, probes, row));
    Json line = {{"request", request}, {"row", row}, {"identity", decision.probe}};
    if (decision.accepted) line["other"] = decision.identity;
    if (!decision.refusal.empty()) line["refused"] = decision.refusal;
    HEFT_RETURN_IF_ERROR(record->Add(line));
  }
  return record->Add({{"end", request}});
}

// Finish: says to the server's half that a request is done, by an empty file. It is whole once it
// is there, so it needs no other name before, which a killed process would leave. It is made again
// where a crash lost it.
absl::Status Finish(const DecideJob& job, const std::string& request) {
  const std::string done = DoneFile(job.folders, request);
  if (!IsDone(job.folders, request) && !std::ofstream(done).is_open()) {
    return internal::SystemError("cannot write", done, errno);
  }
  Drop(job, request);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DeduplicationProgress> DecideEach(const KeyOwner& owner, const DecideJob& job,
                                                 const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> requests, RequestNames(job.folders));
  HEFT_RETURN_IF_ERROR(MakeDirectories(job.folders.exchange));
  HEFT_ASSIGN_OR_RETURN(Record record, Record::Open(job.record, QuestionOf(job)));
  DeduplicationProgress progress;
  progress.requests = requests.size();
  const auto begun = std::chrono::steady_clock::now();
  for (const std::string& request : requests) {
    const Record::State state = record.Of(request);
    if (!state.ended && IsDone(job.folders, request)) {
      // The record is an older one that was put back: a request unknown to it is asked again.
      std::error_code ignored;
      fs::remove(DoneFile(job.folders, request), ignored);
    }
    if (!state.ended && state.begun) {
      // A process was killed at it: it is unknown which of these replies were opened.
      Drop(job, request);
      HEFT_RETURN_IF_ERROR(record.Add({{"again", request}}));
    }
    if (!state.ended) {
      if (!AllAnswered(job, request)) continue;
      HEFT_RETURN_IF_ERROR(DecideRequest(owner, job, request, &record, monitor));
      ++progress.now;
    }
    HEFT_RETURN_IF_ERROR(Finish(job, request));
    ++progress.done;
  }
  progress.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return progress;
}

absl::StatusOr<Duplicates> ReadDuplicates(const std::string& record) {
  Duplicates out;
  std::set<std::pair<std::string, std::string>> pairs;
  const auto read = Record::ReadLines(record, [&](const Json& line) {
    if (!line.contains("request")) return absl::OkStatus();
    ++out.decided;
    const std::string identity = line["identity"].get<std::string>();
    if (const Json* other = line.find("other")) {
      pairs.insert(std::minmax(identity, other->get<std::string>()));
    }
    if (line.contains("refused")) out.refused.push_back(identity);
    return absl::OkStatus();
  });
  HEFT_RETURN_IF_ERROR(read.status());
  out.pairs.assign(pairs.begin(), pairs.end());
  return out;
}

}  // namespace heft
