// SPDX-License-Identifier: Apache-2.0
// EnrolDirectly: for tests, into a gallery without a key owner's word. Server::Enrol never does.
#ifndef HEFT_GALLERY_ENROL_DIRECTLY_H_
#define HEFT_GALLERY_ENROL_DIRECTLY_H_

#include <string>
#include <utility>
#include <vector>

#include "gallery/server_impl.h"

namespace heft::testing {

inline absl::StatusOr<EnrolResult> EnrolDirectly(const Server::Impl& server,
                                                 const std::string& folder,
                                                 const SampleSet& samples,
                                                 const EnrolOptions& options = {}) {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, server.OpenGallery(folder, /*create=*/true));
  EnrolResult result;
  if (samples.bulk()) {
    HEFT_ASSIGN_OR_RETURN(BatchEnrolment bulk, server.FuseBulk(samples, options));
    HEFT_RETURN_IF_ERROR(gallery.EnrolBatch(server.rings(), bulk.identities, std::move(bulk.batch),
                                            server.ring_keys(), bulk.samples));
    result.brought = bulk.identities.size();
  } else {
    HEFT_ASSIGN_OR_RETURN(const auto templates, server.FuseAll(samples, options));
    HEFT_RETURN_IF_ERROR(gallery.Enrol(server.instance(), templates, server.keys()));
    result.brought = templates.size();
  }
  result.templates = gallery.size();
  result.blocks = gallery.blocks();
  return result;
}

}  // namespace heft::testing

#endif  // HEFT_GALLERY_ENROL_DIRECTLY_H_
