// SPDX-License-Identifier: Apache-2.0
// Ahead: prefetches memory that this thread reads next. Transforms work in the caches and leave the
// memory bus idle. While an Ahead exists, each transform of its thread fetches a part of the range,
// in order: twice the bytes that it transforms. Results do not depend on it.
#ifndef HEFT_RING_AHEAD_H_
#define HEFT_RING_AHEAD_H_

#include <cstdint>
#include <span>

namespace heft::ring {

class Ahead {
 public:
  using Range = std::span<const uint32_t>;
  // The range may be freed before it is fetched.
  explicit Ahead(Range range);
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;
  ~Ahead();

  // Cursor: the address at which this thread's next transform starts to fetch. The transform
  // advances it, possibly past the end. nullptr if there is nothing to fetch.
  static const uint32_t** Cursor();

 private:
  Ahead* outer_;
  const uint32_t* at_;
  const uint32_t* end_;
};

}  // namespace heft::ring

#endif  // HEFT_RING_AHEAD_H_
