// SPDX-License-Identifier: Apache-2.0
// EnrolDirectly: for tests: enrols without the key owner's approval. Server::Enrol never does.
#ifndef HEFT_MATCHER_ENROL_DIRECTLY_H_
#define HEFT_MATCHER_ENROL_DIRECTLY_H_

#include <string>
#include <utility>
#include <vector>

#include "gallery/change.h"
#include "matcher/server_impl.h"

namespace heft::testing {

inline absl::StatusOr<EnrolResult> EnrolDirectly(const Server::Impl& server,
                                                 const std::string& folder,
                                                 const SampleSet& samples,
                                                 const EnrolOptions& options = {}) {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, server.OpenGallery(folder, /*create=*/true));
  std::vector<Enrolment> templates;
  BatchEnrolment bulk;
  if (samples.bulk()) {
    HEFT_ASSIGN_OR_RETURN(bulk, server.FuseBulk(samples, options));
  } else {
    HEFT_ASSIGN_OR_RETURN(templates, server.FuseAll(samples, options));
  }
  HEFT_ASSIGN_OR_RETURN(GalleryChange change,
                        GalleryChange::Begin(std::move(gallery), /*start=*/true));
  EnrolResult result;
  if (samples.bulk()) {
    for (size_t i = 0; i < bulk.identities.size(); ++i) {
      templates.push_back({bulk.identities[i], {}, bulk.samples[i]});
    }
    HEFT_RETURN_IF_ERROR(
        change.AddBatch(server.rings(), templates, std::move(bulk.batch), server.ring_keys()));
  } else {
    HEFT_RETURN_IF_ERROR(change.AddSingles(server.instance(), templates));
    HEFT_RETURN_IF_ERROR(change.Fold(server.instance(), server.keys()));
  }
  HEFT_RETURN_IF_ERROR(change.Commit());
  result.brought = templates.size();
  result.templates = change.head().live;
  result.blocks = change.infos().size();
  return result;
}

}  // namespace heft::testing

#endif  // HEFT_MATCHER_ENROL_DIRECTLY_H_
