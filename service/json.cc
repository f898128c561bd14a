// SPDX-License-Identifier: Apache-2.0
#include "service/json.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace heft::service {
namespace {

using nlohmann::json;

// Builder makes the value as the parser goes. The parser stops where one of these returns false;
// from a callback of json::parse it does not.
class Builder : public json::json_sax_t {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return Refuse("holds bytes"); }
  bool start_object(size_t) override { return Open(json::object()); }
  bool start_array(size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    auto& members = open_.back()->get_ref<json::object_t&>();
    const auto [place, is_new] = members.emplace(std::move(name), nullptr);
    member_ = &place->second;
    return is_new || Refuse("has a key twice");
  }
  bool parse_error(size_t, const std::string&, const json::exception&) override {
    return Refuse("cannot be read: it is no JSON");
  }

  json& value() { return value_; }
  const std::string& wrong() const { return wrong_; }

 private:
  // Place: where the next value goes. Only the innermost array grows, so that those around it stay
  // where they are.
  json* Place(json value) {
    if (open_.empty()) return &(value_ = std::move(value));
    if (open_.back()->is_object()) return &(*member_ = std::move(value));
    auto& elements = open_.back()->get_ref<json::array_t&>();
    return &elements.emplace_back(std::move(value));
  }
  bool Counted() {
    return ++count_ <= limits_.values ||
           Refuse(absl::StrCat("has more than ", limits_.values, " values"));
  }
  bool Add(json value) {
    if (!Counted()) return false;
    Place(std::move(value));
    return true;
  }
  bool Open(json value) {
    if (!Counted()) return false;
    if (open_.size() >= limits_.depth) {
      return Refuse(absl::StrCat("is nested deeper than ", limits_.depth));
    }
    open_.push_back(Place(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }
  bool Refuse(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
    return false;
  }

  const JsonLimits limits_;
  json value_;
  json* member_ = nullptr;   // of the innermost object, whose value comes next
  std::vector<json*> open_;  // objects and arrays around what is read
  size_t count_ = 0;
  std::string wrong_;
};

}  // namespace

absl::StatusOr<json> ParseJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the JSON is longer than ", limits.bytes, " bytes"));
  }
  Builder builder(limits);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) {
    return absl::InvalidArgumentError(absl::StrCat("the JSON ", builder.wrong()));
  }
  return std::move(builder.value());
}

absl::StatusOr<json> ParseJson(std::span<const uint8_t> text, const JsonLimits& limits) {
  return ParseJson(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()),
                   limits);
}

}  // namespace heft::service
