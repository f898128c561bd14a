// SPDX-License-Identifier: Apache-2.0
// WriterQueue: those who wait for a store's lock, in the order in which they came, in all
// processes. Each holds a lock on a byte of its own in a file, its ticket; who has none before him
// is next. Whoever is killed holds nothing any more, so nothing has to be cleared away after him.
// Nothing is written to the file.
#ifndef HEFT_GALLERY_WRITER_QUEUE_H_
#define HEFT_GALLERY_WRITER_QUEUE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"

namespace heft {

class WriterQueue {
 public:
  // Join: at the end. The file is made if need be (mode 0600). kUnavailable.
  static absl::StatusOr<WriterQueue> Join(const std::string& path);
  WriterQueue(WriterQueue&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), ticket_(other.ticket_) {}
  WriterQueue& operator=(WriterQueue&&) = delete;
  // Leaves it.
  ~WriterQueue();

  uint64_t ticket() const { return ticket_; }
  // IsNext: whether nobody who came before still waits.
  absl::StatusOr<bool> IsNext() const;

 private:
  explicit WriterQueue(int fd) : fd_(fd) {}
  absl::Status TakeTicket();
  int fd_;
  uint64_t ticket_ = 0;
};

}  // namespace heft

#endif  // HEFT_GALLERY_WRITER_QUEUE_H_
