// SPDX-License-Identifier: Apache-2.0
// Sessions through libpq, for a service of pg_service.conf. Host, database, role, password file and
// certificates are those of the service; none is on a command line.
#ifndef HEFT_POSTGRES_LIBPQ_SESSION_H_
#define HEFT_POSTGRES_LIBPQ_SESSION_H_

#include <string>

#include "postgres/sql_session.h"

namespace heft {

// kSilence: after waiting this long for its server, a session asks where the service leads now. If
// that is another server, ours hangs and was replaced, so the session is lost.
inline constexpr absl::Duration kSilence = absl::Seconds(10);
// ConnectByService: a new connection. After a fork, the child does not use the parent's.
absl::StatusOr<std::unique_ptr<SqlSession>> ConnectByService(const std::string& service,
                                                             absl::Duration silence = kSilence);

}  // namespace heft

#endif  // HEFT_POSTGRES_LIBPQ_SESSION_H_
