// SPDX-License-Identifier: Apache-2.0
// BodyWriter: takes a body as it arrives: in memory at first, in an unnamed file beyond a size.
#ifndef HEFT_SERVICE_HTTP_SPOOL_H_
#define HEFT_SERVICE_HTTP_SPOOL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/http/message.h"

namespace heft::service {

// SpoolBudget: limits and current use of all bodies together.
struct SpoolBudget {
  uint64_t memory_body = 0;   // of one body
  uint64_t most_memory = 0;   // of all: beyond, small ones go to files as well
  uint64_t most_spooled = 0;  // of all in files: beyond, kResourceExhausted
  std::string folder;
  std::atomic<uint64_t> memory{0}, spooled{0};
};

class BodyWriter {
 public:
  explicit BodyWriter(std::shared_ptr<SpoolBudget> budget) : budget_(std::move(budget)) {}
  ~BodyWriter();
  BodyWriter(const BodyWriter&) = delete;
  BodyWriter& operator=(const BodyWriter&) = delete;
  // kResourceExhausted, kUnavailable.
  absl::Status Write(std::span<const uint8_t> bytes);
  // Finish: may be called once.
  absl::StatusOr<std::shared_ptr<const Body>> Finish();

 private:
  absl::Status ToFile();
  absl::Status Append(std::span<const uint8_t> bytes);
  const std::shared_ptr<SpoolBudget> budget_;
  std::vector<uint8_t> memory_;
  int fd_ = -1;
  uint64_t spooled_ = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_SPOOL_H_
