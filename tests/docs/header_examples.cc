// SPDX-License-Identifier: Apache-2.0
// Compiles the code in comments of the public headers, which the site's reference shows. Variables
// that it takes for granted are arguments. blocks.py writes each example as HEADER.NUMBER and
// refuses one that is not included here.
#include <cstdint>
#include <iostream>
#include <memory>
#include <span>
#include <vector>

#include "heft/audit.h"
#include "heft/base.h"
#include "heft/client.h"
#include "heft/desk.h"
#include "heft/evaluate.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"
#include "heft/shards.h"
#include "heft/train.h"
#include "heft/trust.h"
#include "heft/workspace.h"

namespace heft {

using Bytes = std::vector<uint8_t>;

absl::Status PassesErrorsOn(const Model& model, const Bytes& key) {
#include "tests/docs/headers/heft_base.h.1"
  return absl::OkStatus();
}

void Audits(const Server& server, const Gallery& copy, const Bytes& state, const Trust& trust,
            const Bytes& reply, const SignerKey& key, const std::vector<SampleFile>& files){
#include "tests/docs/headers/heft_audit.h.1"
}

absl::Status AnswersProbes(const absl::StatusOr<TrustedServer>& served,
                           const std::vector<SampleFile>& files, const TakeReply& take) {
#include "tests/docs/headers/heft_desk.h.1"
  return answered.status();
}

void VerifiesLogs(const AuditHead& noted){
#include "tests/docs/headers/heft_audit.h.2"
}

absl::Status Studies() {
#include "tests/docs/headers/heft_evaluate.h.1"
  return report.status();
}

void Expands(const Model& model, const Bytes& evaluation_keys) {
#include "tests/docs/headers/heft_server.h.2"
}

void FitsOne(Model& model) {
#include "tests/docs/headers/heft_train.h.1"
}

void LoadsKeys(const Model& model, const Trust& trust) {
#include "tests/docs/headers/heft_server.h.3"
}

void Administers(const Model& model, const absl::StatusOr<Server>& server) {
#include "tests/docs/headers/heft_gallery_admin.h.1"
}

void Removes(const absl::StatusOr<Server>& server, const Bytes& answer, const Trust& trust) {
#include "tests/docs/headers/heft_gallery_admin.h.2"
}

void Serves(const Model& model, const Bytes& evaluation_keys, const Bytes& face, const Bytes& voice,
            const Bytes& probe, const Bytes& admission, const Trust& trust) {
#include "tests/docs/headers/heft_server.h.1"
}

void ShardedGalleries(const absl::StatusOr<Server>& server, const std::vector<SampleFile>& people,
                      const std::vector<SampleFile>& probe) {
#include "tests/docs/headers/heft_shards.h.2"
}

void ServesRequests(const Model& model, const Trust& trust, const Bytes& evaluation_keys) {
#include "tests/docs/headers/heft_desk.h.2"
}

void Shards() {
#include "tests/docs/headers/heft_shards.h.1"
}

void Signs(const Bytes& reply, const Bytes& bytes, uint64_t in_an_hour) {
#include "tests/docs/headers/heft_trust.h.1"
}

void KeepsAWorkspace(const Model& model, std::span<const float> faces,
                     std::span<const float> voices, std::span<const std::string> labels,
                     std::span<const Samples> probes) {
#include "tests/docs/headers/heft_workspace.h.1"
}

}  // namespace heft
