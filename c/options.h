// SPDX-License-Identifier: Apache-2.0
// OptionReader: the values of a heft_options, by the names that a call knows.
#ifndef HEFT_C_OPTIONS_H_
#define HEFT_C_OPTIONS_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "c/handles.h"

namespace heft::c {

class OptionReader {
 public:
  // `options` may be null.
  explicit OptionReader(const heft_options* options);

  // Each sets `*value` if the option is given.
  OptionReader& Text(const char* name, std::string* value);
  OptionReader& Flag(const char* name, bool* value);
  OptionReader& Number(const char* name, double* value);
  OptionReader& Number(const char* name, std::optional<double>* value);
  OptionReader& Bytes(const char* name, std::vector<uint8_t>* value);
  OptionReader& Texts(const char* name, std::vector<std::string>* value);
  OptionReader& Numbers(const char* name, std::vector<double>* value);
  // Integers: numbers, which must be whole.
  template <typename T>
  OptionReader& Integers(const char* name, std::vector<T>* value) {
    std::vector<double> numbers;
    const size_t before = taken_;
    Numbers(name, &numbers);
    if (taken_ == before) return *this;
    value->clear();
    for (const double number : numbers) {
      // Whole numbers beyond 2^53 are not exact.
      const bool whole = number == std::trunc(number) && std::abs(number) <= 0x1p53;
      if (!whole || !std::in_range<T>(static_cast<int64_t>(number))) {
        Complain(name, "is a list of whole numbers");
        return *this;
      }
      value->push_back(static_cast<T>(number));
    }
    return *this;
  }
  template <typename T>
  OptionReader& Integer(const char* name, T* value,
                        std::type_identity_t<T> least = std::numeric_limits<T>::min(),
                        std::type_identity_t<T> most = std::numeric_limits<T>::max()) {
    absl::int128 given = 0;
    if (TakeInteger(name, least, most, &given)) *value = static_cast<T>(given);
    return *this;
  }
  template <typename T>
  OptionReader& Integer(const char* name, std::optional<T>* value) {
    T given{};
    const size_t before = taken_;
    Integer(name, &given);
    if (taken_ > before) *value = given;
    return *this;
  }

  // kInvalidArgument for the first option of another type, and for one that no call above has
  // named.
  absl::Status Finish() const;

 private:
  const heft_options::Value* Find(const char* name);
  template <typename T>
  void Take(const char* name, T* value, const char* type);
  // TakeInteger: whether the option is given, and in [least, most].
  bool TakeInteger(const char* name, absl::int128 least, absl::int128 most, absl::int128* value);
  void Complain(const char* name, absl::string_view why);

  const heft_options* options_;
  absl::Status status_;
  size_t taken_ = 0;
  std::vector<std::string> known_;
};

}  // namespace heft::c

#endif  // HEFT_C_OPTIONS_H_
