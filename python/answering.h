// SPDX-License-Identifier: Apache-2.0
// Arguments of a key owner's answers: replies, files of other owners, rules and policies.
#ifndef HEFT_PYTHON_ANSWERING_H_
#define HEFT_PYTHON_ANSWERING_H_

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heft/key_owner.h"
#include "python/arguments.h"

namespace heft::python {

// ReplyFiles: no file (None), one or several, by their bytes or paths, held for a call.
class ReplyFiles {
 public:
  ReplyFiles(const py::object& given, const std::string& what);
  std::span<const ReplyFile> files() const { return files_; }

 private:
  std::deque<Source> sources_;
  std::vector<ReplyFile> files_;
};

// GivenReplies: one reply or, with a shard list, those of all buckets; of a shared key also the
// parts of the other owners.
class GivenReplies {
 public:
  // `shards` outlives it.
  GivenReplies(const py::object& reply, const std::optional<ShardList>& shards,
               const py::object& parts = py::none());
  Replies Get() const { return {replies_.files(), shards_, parts_.files()}; }

 private:
  const ShardList* shards_;
  ReplyFiles replies_, parts_;
};

// FloodingOf: noise for so many bits against so many openings; 0 bits: none.
std::optional<Flooding> FloodingOf(int bits, uint32_t openings);

// PolicyOf: identities, and entries of an inquiry.
ApprovalPolicy PolicyOf(const py::object& only, const py::object& reject, bool new_identities_only,
                        bool put_back, const py::object& entries, const py::object& reject_entries,
                        const py::object& hold, const std::optional<ShardList>& shards);

}  // namespace heft::python

#endif  // HEFT_PYTHON_ANSWERING_H_
