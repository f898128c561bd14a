// SPDX-License-Identifier: Apache-2.0
// Reading and writing whole files. A write replaces a file in one step: a reader sees the old file
// or the new one, and a failed write leaves the old one unchanged. kUnavailable if the operating
// system refuses. Safe from any thread. Link heft::server.
#ifndef HEFT_FILES_H_
#define HEFT_FILES_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"

namespace heft {

// kMaxFileSize: larger files are refused before memory is allocated; HEFT writes no larger files.
// The other limits are for files of other roles, which may claim any size: a model, keys, the
// samples of one request, a reply.
inline constexpr uint64_t kMaxFileSize = uint64_t{1} << 34;
inline constexpr uint64_t kMaxModelSize = uint64_t{1} << 28;
inline constexpr uint64_t kMaxKeysSize = uint64_t{1} << 31;
inline constexpr uint64_t kMaxSamplesSize = uint64_t{1} << 30;
inline constexpr uint64_t kMaxReplySize = uint64_t{1} << 30;

// ReadFile: reads a whole file or pipe. kNotFound; kInvalidArgument for a directory and for more
// than `max_size` bytes.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path,
                                                          uint64_t max_size = kMaxFileSize);

// WriteFile: writes to a path that a user chose. If `path` is a symbolic link, the file behind it
// is replaced and the link stays. Pipes and character devices (/dev/null, /dev/stdout) are written
// to directly. kInvalidArgument for block devices and sockets, and as CheckOutput; kCancelled, with
// nothing written, if the function of SetInterruptedCheck returns true.
HEFT_EXPORT absl::Status WriteFile(const std::string& path, std::span<const uint8_t> bytes);
HEFT_EXPORT absl::Status WriteFile(const std::string& path, std::string_view text);

// GuardInputs: for programs that run one job: from now on WriteFile refuses to replace files that
// this process has read or written, under any name. CheckOutput: the error of WriteFile if that
// would refuse `path`, or could not write there; call it before long work, and before a charge.
HEFT_EXPORT void GuardInputs();
HEFT_EXPORT absl::Status CheckOutput(const std::string& path);

// MakeDirectories: creates the folder `path` and its parents. kUnavailable, naming the obstacle, if
// another kind of file has the name.
HEFT_EXPORT absl::Status MakeDirectories(const std::string& path);

// NewFolder: a folder that appears with all its files, or not at all.
class HEFT_EXPORT NewFolder {
 public:
  // Creates a folder under a temporary name beside `path`. kInvalidArgument if `path` exists.
  static absl::StatusOr<NewFolder> Create(const std::string& path);

  NewFolder(NewFolder&& other) noexcept;
  // Removes the folder unless Commit has succeeded, after any failure, also of memory.
  ~NewFolder();

  // Writes a file in it; names must differ.
  absl::Status Write(std::string_view name, std::span<const uint8_t> bytes);
  // Gives the folder its name and makes it readable for everybody.
  absl::Status Commit();

 private:
  explicit NewFolder(std::string path);

  std::string path_, partial_;
  std::vector<std::string> files_;
};

// SetInterruptedCheck: a function to call when a signal without SA_RESTART interrupts a wait for a
// pipe or a lock. If it returns true, the wait ends with kCancelled. Without a function, waits
// continue. Safe from any thread.
HEFT_EXPORT void SetInterruptedCheck(bool (*interrupted)());

// Json: the type of results and training summaries (heft/model.h). It is a value; objects keep the
// order of their members. Its members are named as in nlohmann-json, which parses and prints behind
// this interface. Link heft::server.

class HEFT_EXPORT Json {
 public:
  using Member = std::pair<std::string, Json>;

  Json();
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();
  Json(std::nullptr_t) {}                                     // NOLINT: implicit, as below
  Json(const char* text) : value_(std::string(text)) {}       // NOLINT
  Json(std::string text) : value_(std::move(text)) {}         // NOLINT
  Json(std::string_view text) : value_(std::string(text)) {}  // NOLINT
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Json(T value) : value_(Number(value)) {}  // NOLINT
  template <typename T>
  Json(const std::vector<T>& values)
      : value_(std::vector<Json>(values.begin(), values.end())) {}  // NOLINT
  template <typename A, typename B>
  Json(const std::pair<A, B>& two) : value_(std::vector<Json>{two.first, two.second}) {}  // NOLINT
  // An object if every element is a pair that begins with a text, otherwise an array.
  Json(std::initializer_list<Json> elements);

  static Json array(std::initializer_list<Json> elements = {});
  // `members` must have different keys.
  static Json object(std::vector<Member> members = {});

  // Parse: kInvalidArgument for invalid JSON text, and for nesting deeper than `max_depth`, because
  // printing takes one stack frame for each level.
  static absl::StatusOr<Json> Parse(std::string_view text, int max_depth = 64);
  // Text on one line, or indented. Bytes that are not UTF-8 are replaced; doubles read back
  // exactly.
  std::string dump(int indent = -1) const;

  bool is_null() const { return value_.index() == 0; }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  bool is_number_unsigned() const;
  bool is_number_integer() const;
  bool is_number() const { return is_number_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<std::vector<Json>>(value_); }
  bool is_object() const { return std::holds_alternative<std::vector<Member>>(value_); }

  // get: the value as bool, a number or std::string; zero or empty for a value of another kind.
  template <typename T>
  T get() const {
    if constexpr (std::is_same_v<T, std::string>) {
      return is_string() ? std::get<std::string>(value_) : std::string();
    } else if constexpr (std::is_same_v<T, bool>) {
      return is_boolean() && std::get<bool>(value_);
    } else {
      if (const auto* v = std::get_if<int64_t>(&value_)) return static_cast<T>(*v);
      if (const auto* v = std::get_if<uint64_t>(&value_)) return static_cast<T>(*v);
      if (const auto* v = std::get_if<double>(&value_)) return static_cast<T>(*v);
      return T{};
    }
  }

  // Elements of an array or values of an object; 0 for other kinds.
  size_t size() const;
  bool empty() const { return size() == 0; }
  // The elements of an array; none for other kinds.
  const std::vector<Json>& elements() const;
  const std::vector<Member>& members() const;
  const Json* begin() const { return elements().data(); }
  const Json* end() const { return elements().data() + elements().size(); }

  // find: a member of an object; null if there is none.
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  // A member or element that must exist.
  const Json& operator[](std::string_view key) const;
  const Json& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  template <typename I, std::enable_if_t<std::is_integral_v<I>, int> = 0>
  const Json& operator[](I index) const {
    return elements()[static_cast<size_t>(index)];
  }

  // The calls below change the value; null becomes an object or array first.
  Json& operator[](std::string_view key);
  Json& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  void push_back(Json element);
  void push_back(std::initializer_list<Json> elements) { push_back(Json(elements)); }
  Json& back();
  // Adds the members of another object, replacing members of the same names.
  void update(const Json& other);

  // Compares numbers by value and objects in any order.
  friend bool operator==(const Json& a, const Json& b);

 private:
  using Value = std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string,
                             std::vector<Json>, std::vector<Member>>;
  template <typename T>
  static Value Number(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value;
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<int64_t>(value);
    } else {
      return static_cast<uint64_t>(value);
    }
  }

  Value value_ = nullptr;
};

// Results as the tools show them. Link heft::server.

// Described: a result as JSON and as lines for people, with warnings.
struct Described {
  Json json = {};
  std::string text = {};
  std::vector<std::string> warnings = {};
};

}  // namespace heft

#endif  // HEFT_FILES_H_
