// SPDX-License-Identifier: Apache-2.0
// Config: a TOML file whose every key is known, of the right type and in range. What is wrong is
// collected while it is read, and said at once by Check, each with file and line. Call:
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

// ConfigTable: a table of the file, or one that is not there, whose keys all have their defaults.
class ConfigTable {
 public:
  struct Node;
  explicit ConfigTable(std::shared_ptr<Node> node) : node_(std::move(node)) {}

  bool present() const;
  bool Has(std::string_view key) const;
  // Each returns `fallback` where the key is absent, and where it is wrong, which Check then says.
  std::string Text(std::string_view key, std::string_view fallback) const;
  // Must be there, and not empty.
  std::string RequiredText(std::string_view key) const;
  // One of these.
  std::string Choice(std::string_view key, std::string_view fallback,
                     const std::vector<std::string>& choices) const;
  // A path: relative ones start at the file's folder; "credential:NAME" is one that systemd has
  // given ($CREDENTIALS_DIRECTORY); "pkcs11:..." and "postgres:..." stay. Empty where it is absent.
  std::string Path(std::string_view key, std::string_view fallback = "") const;
  std::string RequiredPath(std::string_view key) const;
  std::vector<std::string> Paths(std::string_view key) const;
  uint64_t Number(std::string_view key, uint64_t fallback, uint64_t least, uint64_t most) const;
  double Real(std::string_view key, double fallback, double least, double most) const;
  bool Flag(std::string_view key, bool fallback) const;
  std::chrono::seconds Seconds(std::string_view key, uint64_t fallback, uint64_t least,
                               uint64_t most) const;
  std::vector<std::string> Texts(std::string_view key) const;
  // A table; [[key]]: all of an array of tables.
  ConfigTable Table(std::string_view key) const;
  std::vector<ConfigTable> Tables(std::string_view key) const;
  // The names of the tables in this one, where they are the user's own: [gallery.NAME].
  std::vector<std::string> Names() const;
  // Says that a value that was read does not do: at its line.
  void Wrong(std::string_view key, std::string_view message) const;

 private:
  friend class Config;
  std::shared_ptr<Node> node_;
};

class Config {
 public:
  // kNotFound; kInvalidArgument (file:line:column) for what is no TOML, or above 1 MB.
  static absl::StatusOr<Config> Read(const std::string& path);
  static absl::StatusOr<Config> Parse(std::string_view text, const std::string& path);
  ConfigTable root() const { return root_; }
  // kInvalidArgument: all that was wrong, a line each, and every key that nobody asked for.
  absl::Status Check() const;

 private:
  explicit Config(ConfigTable root) : root_(std::move(root)) {}
  ConfigTable root_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_CONFIG_READER_H_
