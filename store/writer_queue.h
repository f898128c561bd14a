// SPDX-License-Identifier: Apache-2.0
// WriterQueue: the writers of all processes that wait for a store's lock, in order of arrival. Each
// holds a lock on its own byte of a file, its ticket. A writer with no earlier ticket is next. The
// system releases the ticket of a killed process, so no cleaning is needed. Nothing is written to
// the file.
#ifndef HEFT_STORE_WRITER_QUEUE_H_
#define HEFT_STORE_WRITER_QUEUE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"

namespace heft {

class WriterQueue {
 public:
  // Join: enters the queue at its end. Creates the file if it does not exist (mode 0600).
  // kUnavailable.
  static absl::StatusOr<WriterQueue> Join(const std::string& path);
  WriterQueue(WriterQueue&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), ticket_(other.ticket_) {}
  WriterQueue& operator=(WriterQueue&&) = delete;
  // Leaves the queue.
  ~WriterQueue();

  uint64_t ticket() const { return ticket_; }
  // IsNext: whether no earlier ticket is held.
  absl::StatusOr<bool> IsNext() const;

 private:
  explicit WriterQueue(int fd) : fd_(fd) {}
  absl::Status TakeTicket();
  int fd_;
  uint64_t ticket_ = 0;
};

}  // namespace heft

#endif  // HEFT_STORE_WRITER_QUEUE_H_
