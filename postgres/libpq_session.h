// SPDX-License-Identifier: Apache-2.0
// Sessions through libpq, of a service of pg_service.conf: host, database, role, password file and
// certificates are the service's, none of them on a command line.
#ifndef HEFT_POSTGRES_LIBPQ_SESSION_H_
#define HEFT_POSTGRES_LIBPQ_SESSION_H_

#include <string>

#include "postgres/sql_session.h"

namespace heft {

// kSilence: a session that waits for its server for so long asks where the service leads now, and
// is lost where that is another server: ours has been replaced while it hangs.
inline constexpr absl::Duration kSilence = absl::Seconds(10);
// ConnectByService: a connection of its own. After a fork a child leaves the parent's alone.
absl::StatusOr<std::unique_ptr<SqlSession>> ConnectByService(const std::string& service,
                                                             absl::Duration silence = kSilence);

}  // namespace heft

#endif  // HEFT_POSTGRES_LIBPQ_SESSION_H_
