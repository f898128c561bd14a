// SPDX-License-Identifier: Apache-2.0
// Fellows: the deciders of the other owners of a shared key. An opening asks them for their partial
// openings: as many as the key needs, of those that answer. Which owners are there is asked before
// the reply is sent, because an owner opens a reply for one set of owners alone.
#ifndef HEFT_SERVICE_DECIDER_FELLOWS_H_
#define HEFT_SERVICE_DECIDER_FELLOWS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/key_owner.h"
#include "service/decider/config.h"
#include "service/http/client.h"
#include "service/json.h"

namespace heft::service {

inline constexpr char kPartsPath[] = "/v1/exchange/parts";

// PartQuestion: what the fellows are asked to open.
struct PartQuestion {
  Json terms;  // what is asked about the files, without the owners
  std::vector<FormPart> files = {};
  Digest digest{};  // of the files: it chooses who is asked first
  std::string request_id = {};
  bool may_take_long = false;  // its time depends on its size, and no client waits
  std::chrono::steady_clock::time_point deadline = {};
  OwnerSet* owners = nullptr;  // who opened, unless null
};

class Fellows {
 public:
  // kInvalidArgument, kFailedPrecondition: the list does not fit the key, or is too short to open.
  static absl::StatusOr<std::shared_ptr<Fellows>> Create(const std::vector<FellowConfig>& configs,
                                                         const SharedKey& own);
  ~Fellows();
  Fellows(const Fellows&) = delete;
  Fellows& operator=(const Fellows&) = delete;

  // SourceFor: for one opening. Its errors: kUnavailable while too few fellows answer, and a
  // fellow's refusal as it is: it is final, because an owner that sees a reason not to open is not
  // to be passed over. A fellow that does not answer, or whose part is not taken, is replaced by
  // another set of owners, as long as there is one without owners that were asked before.
  PartSource SourceFor(PartQuestion question);
  // Doubt: an opening by these owners was refused, maybe by a false part. Others are asked first
  // from now on.
  void Doubt(const OwnerSet& owners);
  // The owner of the fellow with this name; 0: none.
  uint32_t OwnerOf(const std::string& name) const;
  // Away: the owners that did not answer when they were last asked.
  OwnerSet Away() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Fellow;
  class Opening;

  explicit Fellows(const SharedKey& own);
  void Watch(Fellow* fellow);
  void Note(Fellow* fellow, const absl::Status& answered);
  absl::StatusOr<std::vector<Fellow*>> Choose(const PartQuestion& question,
                                              const std::set<uint32_t>& excluded);
  absl::StatusOr<OwnerPart> Ask(Fellow* fellow, const PartQuestion& question, const OwnerSet& set);

  const SharedKey own_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Fellow>> fellows_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_FELLOWS_H_
