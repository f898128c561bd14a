// SPDX-License-Identifier: Apache-2.0
#include "c/options.h"

#include <algorithm>
#include <sstream>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "c/call.h"

namespace heft::c {

OptionReader::OptionReader(const heft_options* options)
    : options_(options), status_(Allowed(options, "options")) {
  if (!status_.ok()) options_ = nullptr;
}

const heft_options::Value* OptionReader::Find(const char* name) {
  known_.push_back(name);
  if (options_ == nullptr) return nullptr;
  const auto found = options_->values.find(std::string_view(name));
  if (found == options_->values.end()) return nullptr;
  ++taken_;
  return &found->second;
}

void OptionReader::Complain(const char* name, absl::string_view why) {
  status_.Update(absl::InvalidArgumentError(absl::StrCat("option \"", name, "\" ", why)));
}

template <typename T>
constexpr bool IsList =
    std::is_same_v<T, std::vector<std::string>> || std::is_same_v<T, std::vector<double>>;

template <typename T>
void OptionReader::Take(const char* name, T* value, const char* type) {
  const heft_options::Value* given = Find(name);
  if (given == nullptr) return;
  if (const T* right = std::get_if<T>(given)) {
    *value = *right;
  } else if (IsList<T> && std::holds_alternative<heft_options::EmptyList>(*given)) {
    *value = T();
  } else {
    Complain(name, type);
  }
}

OptionReader& OptionReader::Text(const char* name, std::string* value) {
  Take(name, value, "is a text: set it with heft_options_set_text");
  return *this;
}

// An integer is a flag too, as in C.
OptionReader& OptionReader::Flag(const char* name, bool* value) {
  const heft_options::Value* given = Find(name);
  if (given == nullptr) return *this;
  if (const bool* flag = std::get_if<bool>(given)) {
    *value = *flag;
  } else if (const auto* integer = std::get_if<absl::int128>(given)) {
    *value = *integer != 0;
  } else {
    Complain(name, "is a flag: set it with heft_options_set_flag");
  }
  return *this;
}

OptionReader& OptionReader::Bytes(const char* name, std::vector<uint8_t>* value) {
  Take(name, value, "is bytes: set it with heft_options_set_bytes");
  return *this;
}

OptionReader& OptionReader::Texts(const char* name, std::vector<std::string>* value) {
  Take(name, value, "is a list of texts: add to it with heft_options_add_text");
  return *this;
}

OptionReader& OptionReader::Numbers(const char* name, std::vector<double>* value) {
  Take(name, value, "is a list of numbers: add to it with heft_options_add_number");
  return *this;
}

// An integer is a number too.
OptionReader& OptionReader::Number(const char* name, std::optional<double>* value) {
  const heft_options::Value* given = Find(name);
  if (given == nullptr) return *this;
  if (const double* number = std::get_if<double>(given)) {
    *value = *number;
  } else if (const auto* integer = std::get_if<absl::int128>(given)) {
    *value = static_cast<double>(*integer);
  } else {
    Complain(name, "is a number: set it with heft_options_set_number");
  }
  return *this;
}

OptionReader& OptionReader::Number(const char* name, double* value) {
  std::optional<double> given;
  Number(name, &given);
  if (given) *value = *given;
  return *this;
}

bool OptionReader::TakeInteger(const char* name, absl::int128 least, absl::int128 most,
                               absl::int128* value) {
  const size_t before = taken_;
  *value = least;
  Take(name, value, "is an integer: set it with heft_options_set_integer");
  if (*value < least || *value > most) {
    std::ostringstream range;
    range << "is " << *value << ": it must be in [" << least << ", " << most << "]";
    Complain(name, range.str());
    return false;
  }
  return taken_ > before;
}

absl::Status OptionReader::Finish() const {
  HEFT_RETURN_IF_ERROR(status_);
  if (options_ == nullptr || taken_ == options_->values.size()) return absl::OkStatus();
  for (const auto& [name, value] : options_->values) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("option \"", name, "\" is not one of this call's options: ",
                     known_.empty() ? "it has none" : absl::StrJoin(known_, ", ")));
  }
  return absl::OkStatus();
}

namespace {

// Set: sets a value by its name, and replaces an earlier one.
heft_status Set(heft_options* options, const char* name, heft_options::Value value,
                heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(options, "options", name, "name"));
    options->values.insert_or_assign(name, std::move(value));
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status Add(heft_options* options, const char* name, T value) {
  HEFT_RETURN_IF_ERROR(Given(options, "options", name, "name"));
  const auto place = options->values.try_emplace(name, std::vector<T>()).first;
  if (std::holds_alternative<heft_options::EmptyList>(place->second)) {
    place->second = std::vector<T>();
  }
  auto* list = std::get_if<std::vector<T>>(&place->second);
  if (list == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("option \"", name, "\" is not a list"));
  }
  list->push_back(std::move(value));
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft::c

using heft::c::Call;
using heft::c::Given;

heft_status heft_options_new(heft_options** options, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(options, "options"));
    *options = new heft_options;
    return absl::OkStatus();
  });
}

void heft_options_free(heft_options* options) { heft::c::Free(options); }

heft_status heft_options_set_text(heft_options* options, const char* name, const char* value,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(options, "options", name, "name", value, "value"));
    options->values.insert_or_assign(name, std::string(value));
    return absl::OkStatus();
  });
}

heft_status heft_options_set_integer(heft_options* options, const char* name, int64_t value,
                                     heft_error** error) {
  return heft::c::Set(options, name, absl::int128(value), error);
}

heft_status heft_options_set_unsigned(heft_options* options, const char* name, uint64_t value,
                                      heft_error** error) {
  return heft::c::Set(options, name, absl::int128(value), error);
}

heft_status heft_options_set_number(heft_options* options, const char* name, double value,
                                    heft_error** error) {
  return heft::c::Set(options, name, value, error);
}

heft_status heft_options_set_flag(heft_options* options, const char* name, int value,
                                  heft_error** error) {
  return heft::c::Set(options, name, value != 0, error);
}

heft_status heft_options_set_bytes(heft_options* options, const char* name, heft_bytes value,
                                   heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(options, "options", name, "name", value, "value"));
    const auto bytes = heft::c::Span(value);
    options->values.insert_or_assign(name, std::vector<uint8_t>(bytes.begin(), bytes.end()));
    return absl::OkStatus();
  });
}

heft_status heft_options_set_empty_list(heft_options* options, const char* name,
                                        heft_error** error) {
  return heft::c::Set(options, name, heft_options::EmptyList(), error);
}

heft_status heft_options_add_text(heft_options* options, const char* name, const char* value,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(value, "value"));
    return heft::c::Add(options, name, std::string(value));
  });
}

heft_status heft_options_add_number(heft_options* options, const char* name, double value,
                                    heft_error** error) {
  return Call(error, [&] { return heft::c::Add(options, name, value); });
}
