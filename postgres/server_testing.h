// SPDX-License-Identifier: Apache-2.0
// For tests: a PostgreSQL server of their own in a temporary folder, on a socket in it.
#ifndef HEFT_POSTGRES_SERVER_TESTING_H_
#define HEFT_POSTGRES_SERVER_TESTING_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/testing.h"
#include "postgres/sql_store.h"

namespace heft::postgres_testing {

// ServerIsInstalled: if false, the tests are skipped with a message.
bool ServerIsInstalled();

// ThrowAwayServer: ends with this object, or with this process, however that ends. As root it runs
// as an unprivileged user, since PostgreSQL refuses root.
class ThrowAwayServer {
 public:
  ThrowAwayServer();
  ~ThrowAwayServer();
  ThrowAwayServer(const ThrowAwayServer&) = delete;
  ThrowAwayServer& operator=(const ThrowAwayServer&) = delete;

  void Start();
  // Kill: SIGKILL for the server and all its processes.
  void Kill();
  // Signal: to all of them, as SIGSTOP, SIGCONT.
  void Signal(int signal);
  // NewDatabase: an empty database, and a service of the same name ($PGSERVICEFILE) that leads to
  // it.
  std::string NewDatabase();
  // NewServiceBefore: a service that leads to this server or, if it does not answer, to the server
  // of the other service, which is SharedServer()'s.
  std::string NewServiceBefore(const std::string& service);
  // Sql: runs statements in another session, as the role that owns everything. False if they fail.
  bool Sql(const std::string& service, const std::string& statements);
  std::string Ask(const std::string& service, const std::string& statement);

 private:
  std::string Conninfo(const std::string& database) const;
  bool Answers() const;

  const testing::TemporaryFolder folder_;
  pid_t server_ = -1;
  int databases_ = 0;
};

// SharedServer: one server for all tests of the program.
ThrowAwayServer& SharedServer();

}  // namespace heft::postgres_testing

#endif  // HEFT_POSTGRES_SERVER_TESTING_H_
