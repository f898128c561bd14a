// SPDX-License-Identifier: Apache-2.0
// Hasher: the hash of bytes that come in pieces. HashBytes (base/bytes.h) hashes them at once.
#ifndef HEFT_BASE_HASH_H_
#define HEFT_BASE_HASH_H_

#include <memory>

#include "base/bytes.h"

namespace heft {

class Hasher {
 public:
  Hasher();
  Hasher(const Hasher& other);
  Hasher& operator=(const Hasher&) = delete;
  ~Hasher();
  void Update(ByteSpan bytes);
  // Finish: the hash of all bytes. The last call.
  Hash Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heft

#endif  // HEFT_BASE_HASH_H_
