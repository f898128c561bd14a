// SPDX-License-Identifier: Apache-2.0
// The contents of the folders of a deduplication (heft/deduplicate.h), for both of its halves.
#ifndef HEFT_GALLERY_EXCHANGE_FOLDER_H_
#define HEFT_GALLERY_EXCHANGE_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "heft/deduplicate.h"
#include "heft/server.h"

namespace heft {

// RequestNames: the folders of requests, in alphabetical order. kNotFound if there are none,
// kInvalidArgument for a name with a dot in it.
absl::StatusOr<std::vector<std::string>> RequestNames(const DeduplicationFolders& folders);
// ReadRequestFiles: the files of one request, in alphabetical order.
absl::StatusOr<std::vector<SampleFile>> ReadRequestFiles(const DeduplicationFolders& folders,
                                                         const std::string& request);
// The folder for the replies of a bucket, and the file that marks a request as done.
std::string RepliesFolder(const DeduplicationFolders& folders, const std::string& request,
                          uint32_t bucket);
std::string DoneFile(const DeduplicationFolders& folders, const std::string& request);
std::string ReplyName(uint64_t row);
bool IsDone(const DeduplicationFolders& folders, const std::string& request);
// HasAnswered: whether a bucket has answered the request.
bool HasAnswered(const DeduplicationFolders& folders, const std::string& request, uint32_t bucket);

}  // namespace heft

#endif  // HEFT_GALLERY_EXCHANGE_FOLDER_H_
