// SPDX-License-Identifier: Apache-2.0
// What lies in the folders of a deduplication (heft/deduplicate.h), for both of its halves.
#ifndef HEFT_GALLERY_EXCHANGE_FOLDER_H_
#define HEFT_GALLERY_EXCHANGE_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "heft/deduplicate.h"
#include "heft/server.h"

namespace heft {

// RequestNames: the folders of requests, in the order of the alphabet. kNotFound without any,
// kInvalidArgument for a name with a dot in it.
absl::StatusOr<std::vector<std::string>> RequestNames(const DeduplicationFolders& folders);
// ReadRequestFiles: the files of one, in the order of the alphabet.
absl::StatusOr<std::vector<SampleFile>> ReadRequestFiles(const DeduplicationFolders& folders,
                                                         const std::string& request);
// Where the replies of a bucket are to lie; and what says that a request is done.
std::string RepliesFolder(const DeduplicationFolders& folders, const std::string& request,
                          uint32_t bucket);
std::string DoneFile(const DeduplicationFolders& folders, const std::string& request);
std::string ReplyName(uint64_t row);
bool IsDone(const DeduplicationFolders& folders, const std::string& request);
// HasAnswered: whether a bucket has.
bool HasAnswered(const DeduplicationFolders& folders, const std::string& request, uint32_t bucket);

}  // namespace heft

#endif  // HEFT_GALLERY_EXCHANGE_FOLDER_H_
