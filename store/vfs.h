// SPDX-License-Identifier: Apache-2.0
// How SQLite uses files, for stores. It differs from SQLite's own way in this:
//
// - Locks belong to open files, not to processes. So a forked child, another thread or a process
//   of another container with the same number takes none away and frees none.
// - A page of the database is written without remains of moved entries, which secure_delete does
//   not clear. Bytes are overwritten before they are cut off.
// - In a read-only file system the index of the log is in memory.
#ifndef HEFT_STORE_VFS_H_
#define HEFT_STORE_VFS_H_

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>

#include "base/bytes.h"

namespace heft {

// StoreVfs: its name, for sqlite3_open_v2; registered at the first call. Null without memory.
const char* StoreVfs();

// VfsError: the system's error in this thread's last call that failed; 0 if none has failed since
// ClearVfsError.
int VfsError();
void ClearVfsError();

// FileRange: a lock of bytes of an open file, for fcntl. Such locks belong to the open file, not to
// the process: threads are told apart, and none is lost when another file is closed.
struct flock FileRange(short type, off_t first, off_t bytes);
// LockBytes: locks bytes of an open file, or unlocks them. False: another file has a lock there.
bool LockBytes(int fd, short type, off_t first, off_t bytes);
// LocksIn: the number of bytes in [from, to) that other open files have locked. Locks of neighbours
// are one to the system.
uint64_t LocksIn(int fd, off_t from, off_t to);

// WriteAt: all of the bytes. False, with errno.
bool WriteAt(int fd, ByteSpan bytes, uint64_t at);
// WriteZeros: over a range. It does not sync.
bool WriteZeros(int fd, uint64_t at, uint64_t size);
// WriteAhead: writes zeros behind the end of a file whose last write ended at `end`. Later syncs
// then wait only for data. An error costs only time.
void WriteAhead(int fd, uint64_t end);

// ClearGap: zeros in the parts of a database's page that no entry uses. `number`: the page's, from
// 1. Only of pages of tables.
void ClearGap(std::span<uint8_t> page, uint32_t number);

}  // namespace heft

#endif  // HEFT_STORE_VFS_H_
