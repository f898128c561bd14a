// SPDX-License-Identifier: Apache-2.0
// Servers: of galleries in this database, each with the model and the keys that its row in
// heft.galleries names by their fingerprints: loaded once a backend.
#ifndef HEFT_SQL_SERVERS_H_
#define HEFT_SQL_SERVERS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "heft/serving.h"
#include "postgres/sql_session.h"

namespace heft::sql {

// GalleryFiles: what a gallery is created with. Views.
struct GalleryFiles {
  ByteSpan model, evaluation_keys, enrolment_keys;
  std::string trust;
};
// MakeServer: kFailedPrecondition, kDataLoss for what nobody signed whom `trust` lists, or what
// does not go together.
absl::StatusOr<std::shared_ptr<const TrustedServer>> MakeServer(const GalleryFiles& files);

// FindServer: of a gallery that is created. `folder`: for expanded keys.
absl::StatusOr<std::shared_ptr<const TrustedServer>> FindServer(SqlSession& session,
                                                                const std::string& gallery,
                                                                const std::string& folder);
// RegisterGallery: its row and its files, in a transaction of the session's.
absl::Status RegisterGallery(SqlSession& session, const std::string& gallery,
                             const std::string& tenant, const GalleryFiles& files);

}  // namespace heft::sql

#endif  // HEFT_SQL_SERVERS_H_
