// SPDX-License-Identifier: Apache-2.0
#include "postgres/server_testing.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"

namespace heft::postgres_testing {
namespace {

constexpr char kPrograms[] = "/usr/lib/postgresql/15/bin/";
constexpr absl::Duration kPatience = absl::Seconds(60);

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "the throw-away PostgreSQL: %s\n", what.c_str());
  std::abort();
}

// Spawn: starts a program as a user that is not root. It ends with this process.
pid_t Spawn(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const passwd* const nobody = getuid() == 0 ? getpwnam("nobody") : nullptr;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  if (nobody != nullptr && (setgid(nobody->pw_gid) != 0 || setuid(nobody->pw_uid) != 0)) _exit(126);
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (getppid() != parent || chdir("/") != 0) _exit(126);
  execv(argv[0], argv.data());
  _exit(127);
}

std::string LogOf(const std::string& path) { return ReadTextFile(path).value_or("no log"); }

// ChildrenOf: the child processes of a process.
std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  std::ifstream list(absl::StrCat("/proc/", parent, "/task/", parent, "/children"));
  for (pid_t child; list >> child;) children.push_back(child);
  return children;
}

}  // namespace

bool ServerIsInstalled() { return FileExists(absl::StrCat(kPrograms, "postgres")); }

ThrowAwayServer::ThrowAwayServer() {
  const std::string data = folder_ / "data", log = folder_ / "log";
  if (const passwd* const nobody = getuid() == 0 ? getpwnam("nobody") : nullptr) {
    if (chown(folder_.path().c_str(), nobody->pw_uid, nobody->pw_gid) != 0) Die("chown");
  }
  const pid_t made = Spawn({absl::StrCat(kPrograms, "initdb"), "-D", data, "-U", "heft", "-A",
                            "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"},
                           log);
  int status = 0;
  if (waitpid(made, &status, 0) != made || status != 0) Die("initdb: " + LogOf(log));
  setenv("PGSERVICEFILE", (folder_ / "services").c_str(), 1);
  Start();
}

ThrowAwayServer::~ThrowAwayServer() {
  if (server_ <= 0) return;
  kill(server_, SIGINT);
  waitpid(server_, nullptr, 0);
}

std::string ThrowAwayServer::Conninfo(const std::string& database) const {
  return absl::StrCat("host=", folder_.path(), " user=heft dbname=", database);
}

bool ThrowAwayServer::Answers() const { return PQping(Conninfo("postgres").c_str()) == PQPING_OK; }

void ThrowAwayServer::Start() {
  const std::string log = folder_ / "log";
  const absl::Time end = absl::Now() + kPatience;
  // A killed server leaves shared memory until its last process has noticed.
  while (absl::Now() < end) {
    server_ =
        Spawn({absl::StrCat(kPrograms, "postgres"), "-D", folder_ / "data", "-c",
               "listen_addresses=", "-c", absl::StrCat("unix_socket_directories=", folder_.path()),
               "-c", "fsync=off", "-c", "autovacuum=off", "-c", "shared_buffers=32MB", "-c",
               "max_wal_senders=2", "-c", "wal_level=replica", "-c", "log_min_messages=fatal"},
              log);
    while (absl::Now() < end) {
      if (Answers()) return;
      if (waitpid(server_, nullptr, WNOHANG) == server_) break;
      absl::SleepFor(absl::Milliseconds(10));
    }
    absl::SleepFor(absl::Milliseconds(50));
  }
  Die("it does not start: " + LogOf(log));
}

void ThrowAwayServer::Kill() {
  // Stopped, so that it starts no others meanwhile.
  kill(server_, SIGSTOP);
  const std::vector<pid_t> children = ChildrenOf(server_);
  kill(server_, SIGKILL);
  for (const pid_t child : children) kill(child, SIGKILL);
  waitpid(server_, nullptr, 0);
  server_ = -1;
}

void ThrowAwayServer::Signal(int signal) {
  for (const pid_t child : ChildrenOf(server_)) kill(child, signal);
  kill(server_, signal);
}

std::string ThrowAwayServer::NewServiceBefore(const std::string& service) {
  if (!Sql("postgres", "CREATE DATABASE " + service)) Die("cannot make a database");
  const std::string name = service + "_two";
  std::ofstream services(SharedServer().folder_ / "services", std::ios::app);
  services << "[" << name << "]\nhost=" << folder_.path() << "," << SharedServer().folder_.path()
           << "\nuser=heft\ndbname=" << service << "\n";
  setenv("PGSERVICEFILE", (SharedServer().folder_ / "services").c_str(), 1);
  return name;
}

std::string ThrowAwayServer::NewDatabase() {
  const std::string name = absl::StrCat("test", ++databases_);
  if (!Sql("postgres", "CREATE DATABASE " + name)) Die("cannot make a database");
  std::ofstream services(folder_ / "services", std::ios::app);
  services << "[" << name << "]\nhost=" << folder_.path() << "\nuser=heft\ndbname=" << name << "\n";
  return name;
}

bool ThrowAwayServer::Sql(const std::string& service, const std::string& statements) {
  PGconn* const connection = PQconnectdb(Conninfo(service).c_str());
  PGresult* const result = PQexec(connection, statements.c_str());
  const ExecStatusType status = PQresultStatus(result);
  PQclear(result);
  PQfinish(connection);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

std::string ThrowAwayServer::Ask(const std::string& service, const std::string& statement) {
  PGconn* const connection = PQconnectdb(Conninfo(service).c_str());
  PGresult* const result = PQexec(connection, statement.c_str());
  std::string answer = PQresultStatus(result) != PGRES_TUPLES_OK ? PQerrorMessage(connection)
                       : PQntuples(result) == 0                  ? "none"
                                                                 : PQgetvalue(result, 0, 0);
  PQclear(result);
  PQfinish(connection);
  return answer;
}

ThrowAwayServer& SharedServer() {
  // Destroyed at exit, so that it is stopped and its folder removed.
  static ThrowAwayServer server;
  return server;
}

}  // namespace heft::postgres_testing
