// SPDX-License-Identifier: Apache-2.0
// Config: a TOML file whose every key is known, of the right type and in range. Errors are
// collected during the reading, and Check returns all of them, each with file and line. Use:
//
//   HEFT_ASSIGN_OR_RETURN(Config config, Config::Read(path));
//   ConfigTable listen = config.root().Table("listen");
//   limits.workers = listen.Number("workers", 4, 1, 1024);
//   HEFT_RETURN_IF_ERROR(config.Check());   // unknown keys too, with the nearest known one
#ifndef HEFT_SERVICE_RUN_CONFIG_READER_H_
#define HEFT_SERVICE_RUN_CONFIG_READER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace heft::service {

// ConfigTable: a table of the file; in a missing one all keys have their defaults.
class ConfigTable {
 public:
  struct Node;
  explicit ConfigTable(std::shared_ptr<Node> node) : node_(std::move(node)) {}

  bool present() const;
  bool Has(std::string_view key) const;
  // Each returns `fallback` if the key is missing or wrong; Check reports a wrong one.
  std::string Text(std::string_view key, std::string_view fallback) const;
  // The key must exist, and the text must not be empty.
  std::string RequiredText(std::string_view key) const;
  // Choice: one of `choices`.
  std::string Choice(std::string_view key, std::string_view fallback,
                     const std::vector<std::string>& choices) const;
  // Path: a relative path starts at the file's folder. "credential:NAME" is a file that systemd
  // provides ($CREDENTIALS_DIRECTORY); "pkcs11:..." and "postgres:..." stay. Empty if missing.
  std::string Path(std::string_view key, std::string_view fallback = "") const;
  std::string RequiredPath(std::string_view key) const;
  std::vector<std::string> Paths(std::string_view key) const;
  uint64_t Number(std::string_view key, uint64_t fallback, uint64_t least, uint64_t most) const;
  double Real(std::string_view key, double fallback, double least, double most) const;
  bool Flag(std::string_view key, bool fallback) const;
  std::chrono::seconds Seconds(std::string_view key, uint64_t fallback, uint64_t least,
                               uint64_t most) const;
  std::vector<std::string> Texts(std::string_view key) const;
  // Table: one table. Tables: all tables of an array ([[key]]).
  ConfigTable Table(std::string_view key) const;
  std::vector<ConfigTable> Tables(std::string_view key) const;
  // Names: the names of the inner tables that the user chooses: [gallery.NAME].
  std::vector<std::string> Names() const;
  // Wrong: notes that a value is invalid, with its line.
  void Wrong(std::string_view key, std::string_view message) const;

 private:
  friend class Config;
  std::shared_ptr<Node> node_;
};

class Config {
 public:
  // kNotFound; kInvalidArgument (file:line:column) if it is not TOML, or above 1 MB.
  static absl::StatusOr<Config> Read(const std::string& path);
  static absl::StatusOr<Config> Parse(std::string_view text, const std::string& path);
  ConfigTable root() const { return root_; }
  // kInvalidArgument: all errors, a line each, and every key that no call has read.
  absl::Status Check() const;

 private:
  explicit Config(ConfigTable root) : root_(std::move(root)) {}
  ConfigTable root_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_CONFIG_READER_H_
