// SPDX-License-Identifier: Apache-2.0
#include "c/gallery_options.h"

#include <string>
#include <utility>
#include <vector>

#include "c/handles.h"

namespace heft::c {

absl::StatusOr<Retained> ReadRetained(const heft_options* options) {
  Retained retained;
  OptionReader read(options);
  read.Integer("retention_seconds", &retained.seconds);
  read.Integer("retention_bytes", &retained.bytes);
  HEFT_RETURN_IF_ERROR(read.Finish());
  return retained;
}

absl::StatusOr<EnrolOptions> ReadEnrolOptions(const heft_options* options) {
  EnrolOptions enrol;
  std::vector<std::string> metadata;
  std::string client;
  OptionReader read(options);
  read.Text("identity", &enrol.identity).Flag("all_pairs", &enrol.all_pairs);
  read.Flag("average", &enrol.average).Bytes("authorisation", &enrol.authorisation);
  read.Texts("metadata", &metadata).Integer("expires", &enrol.expires);
  read.Text("idempotency_key", &enrol.idempotency_key).Text("client", &client);
  HEFT_RETURN_IF_ERROR(read.Finish());
  if (!client.empty()) {
    HEFT_ASSIGN_OR_RETURN(enrol.client, ParseSignerKey(client));
  }
  HEFT_ASSIGN_OR_RETURN(enrol.metadata, ParseMetadata(metadata));
  return enrol;
}

}  // namespace heft::c
