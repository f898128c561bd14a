// SPDX-License-Identifier: Apache-2.0
// Uploads: keys and models that come over the network. What comes is kept beside what is in use,
// under another name, and read together with it as a whole: when all fits, the files take their
// places and the engine that was made of them is handed out. A new key set is several files: until
// the last of them is there, those before wait.
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
  // `files`: those in use. `staging`: a folder on the same disk; made when it is needed, mode 0700.
  Uploads(EngineFiles files, std::string staging)
      : staging_(std::move(staging)), files_(std::move(files)) {}

  // Use: what an engine is given to that is to be used from now on, before another can be loaded:
  // of an upload and a reload at once, the one that read the files last stays.
  using Use = std::function<void(std::shared_ptr<const Engine>)>;

  // Load: what is in use. Where a crash came between one file and the next as they took their
  // places, the rest of them does so now.
  absl::StatusOr<std::shared_ptr<const Engine>> Load();
  // PrepareReload: these files as they are now: what it returns brings them into use. Until it has
  // run, or is let go of, uploads wait; on one thread. An error changes nothing.
  absl::StatusOr<std::function<void()>> PrepareReload(const EngineFiles& files, const Use& use);
  // Put: of a file that came. The engine that is used from now on; nothing where this file waits
  // for others, and `why` says what did not fit. Errors: what is wrong with the file by
  // itself, and is not kept: kDataLoss, kFailedPrecondition, kInvalidArgument; kUnavailable.
  absl::StatusOr<std::shared_ptr<const Engine>> Put(UploadKind kind, std::span<const uint8_t> bytes,
                                                    std::string* why, const Use& use);
  // Staged: what waits. Drop: it is wanted no more.
  std::vector<UploadKind> Staged() const;
  absl::Status Drop();

 private:
  const std::string& Path(const EngineFiles& files, UploadKind kind) const;
  std::string StagedPath(UploadKind kind) const;
  // The engine of what is in use and what waits, whose files then take their places.
  absl::StatusOr<std::shared_ptr<const Engine>> Together();
  absl::Status CheckAlone(UploadKind kind, std::span<const uint8_t> bytes) const;

  const std::string staging_;
  mutable std::mutex mutex_;  // of the files, and of what is below
  EngineFiles files_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_UPLOADS_H_
