// SPDX-License-Identifier: Apache-2.0
// Uploads: keys and models that arrive over the network. A new file is kept beside those in use and
// loaded together with them. If all files fit, they replace the old ones and the new engine is
// handed out. A new key set is several files: the first ones wait for the last.
#ifndef HEFT_SERVICE_MATCHER_UPLOADS_H_
#define HEFT_SERVICE_MATCHER_UPLOADS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/matcher/engine.h"

namespace heft::service {

enum class UploadKind : uint8_t { kModel, kEvaluationKeys, kEnrolmentKeys, kEncryptionKey };
inline constexpr UploadKind kUploadKinds[] = {UploadKind::kModel, UploadKind::kEvaluationKeys,
                                              UploadKind::kEnrolmentKeys,
                                              UploadKind::kEncryptionKey};
std::string_view UploadName(UploadKind kind);  // "model", "evaluation", "enrolment", "encryption"

class Uploads {
 public:
  // `files`: those in use. `staging`: a folder on the same disk; made when needed, mode 0700.
  Uploads(EngineFiles files, std::string staging)
      : staging_(std::move(staging)), files_(std::move(files)) {}

  // Use: takes a new engine into use, before another can be loaded. If an upload and a reload run
  // at once, the engine of the one that read the files last stays.
  using Use = std::function<void(std::shared_ptr<const Engine>)>;

  // Load: the files in use. If a crash interrupted the replacement of files, it is completed first.
  absl::StatusOr<std::shared_ptr<const Engine>> Load();
  // PrepareReload: loads these files; the returned function brings them into use. Uploads wait
  // until it has run or is destroyed; on one thread. An error changes nothing.
  absl::StatusOr<std::function<void()>> PrepareReload(const EngineFiles& files, const Use& use);
  // Put: takes an uploaded file. Returns the engine that is used from now on; null if the file
  // waits for others, and `why` says why. An invalid file is not kept: kDataLoss,
  // kFailedPrecondition, kInvalidArgument; kUnavailable.
  absl::StatusOr<std::shared_ptr<const Engine>> Put(UploadKind kind, std::span<const uint8_t> bytes,
                                                    std::string* why, const Use& use);
  // Staged: the kinds of waiting files. Drop: deletes them.
  std::vector<UploadKind> Staged() const;
  absl::Status Drop();

 private:
  const std::string& Path(const EngineFiles& files, UploadKind kind) const;
  std::string StagedPath(UploadKind kind) const;
  // Together: the engine of the files in use and the waiting ones, which then replace them.
  absl::StatusOr<std::shared_ptr<const Engine>> Together();
  absl::Status CheckAlone(UploadKind kind, std::span<const uint8_t> bytes) const;

  const std::string staging_;
  mutable std::mutex mutex_;  // of the files, and of the members below
  EngineFiles files_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_UPLOADS_H_
