// SPDX-License-Identifier: Apache-2.0
#include "store/writer_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "store/vfs.h"

namespace heft {
namespace {

// kDoor: a byte behind all tickets, locked by who takes one: for a moment.
constexpr off_t kDoor = off_t{1} << 62;

absl::Status Failed() {
  return absl::UnavailableError(absl::StrCat("cannot queue for the store: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<WriterQueue> WriterQueue::Join(const std::string& path) {
  WriterQueue queue(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (queue.fd_ < 0) {
    return absl::UnavailableError(absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  }
  HEFT_RETURN_IF_ERROR(queue.TakeTicket());
  return queue;
}

WriterQueue::~WriterQueue() {
  if (fd_ >= 0) close(fd_);
}

// One more than the last that is held.
absl::Status WriterQueue::TakeTicket() {
  struct flock door = FileRange(F_WRLCK, kDoor, 1);
  while (fcntl(fd_, F_OFD_SETLKW, &door) != 0) {
    if (errno == EINTR) continue;
    // The file system has no such locks: the order is not kept.
    if (errno == EINVAL || errno == ENOLCK || errno == EOPNOTSUPP) return absl::OkStatus();
    return Failed();
  }
  off_t last = 0;
  while (true) {
    struct flock held = FileRange(F_WRLCK, last + 1, kDoor - last - 1);
    if (fcntl(fd_, F_OFD_GETLK, &held) != 0) return Failed();
    if (held.l_type == F_UNLCK) break;
    last = held.l_start;  // not the last one, maybe
  }
  struct flock ticket = FileRange(F_WRLCK, last + 1, 1);
  door.l_type = F_UNLCK;
  if (fcntl(fd_, F_OFD_SETLK, &ticket) != 0 || fcntl(fd_, F_OFD_SETLK, &door) != 0) {
    return Failed();
  }
  ticket_ = static_cast<uint64_t>(last + 1);
  return absl::OkStatus();
}

absl::StatusOr<bool> WriterQueue::IsNext() const {
  if (ticket_ <= 1) return true;
  struct flock before = FileRange(F_WRLCK, 1, static_cast<off_t>(ticket_ - 1));
  if (fcntl(fd_, F_OFD_GETLK, &before) != 0) return Failed();
  return before.l_type == F_UNLCK;
}

}  // namespace heft
