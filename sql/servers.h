// SPDX-License-Identifier: Apache-2.0
// Servers of galleries in this database. A gallery's row in heft.galleries names model and keys by
// their fingerprints. Each backend loads them once.
#ifndef HEFT_SQL_SERVERS_H_
#define HEFT_SQL_SERVERS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "heft/desk.h"
#include "postgres/sql_session.h"

namespace heft::sql {

// GalleryFiles: the files with which a gallery is created. Views.
struct GalleryFiles {
  ByteSpan model, evaluation_keys, enrolment_keys;
  std::string trust;
};
// MakeServer: kFailedPrecondition or kDataLoss for files that no signer in `trust` has signed, or
// that do not fit each other.
absl::StatusOr<std::shared_ptr<const TrustedServer>> MakeServer(const GalleryFiles& files);

// FindServer: the server of an existing gallery. `folder`: for expanded keys.
absl::StatusOr<std::shared_ptr<const TrustedServer>> FindServer(SqlSession& session,
                                                                const std::string& gallery,
                                                                const std::string& folder);
// RegisterGallery: stores its row and its files, in a transaction of the session.
absl::Status RegisterGallery(SqlSession& session, const std::string& gallery,
                             const std::string& tenant, const GalleryFiles& files);

}  // namespace heft::sql

#endif  // HEFT_SQL_SERVERS_H_
