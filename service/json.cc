// SPDX-License-Identifier: Apache-2.0
#include "service/json.h"

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace heft::service {
namespace {

// Builder makes the value while the parser runs. The parser stops if one of these functions returns
// false; it does not stop if a callback of Json::parse does.
class Builder : public Json::json_sax_t {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return Refuse("holds bytes"); }
  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    Inside& inside = open_.back();
    if (!inside.keys.insert(name).second) return Refuse("has a key twice");
    // emplace would search all members each time.
    Members& members = inside.value->get_ref<Json::object_t&>();
    member_ = &members.emplace_back(std::move(name), nullptr).second;
    return true;
  }
  bool parse_error(size_t, const std::string&, const Json::exception&) override {
    return Refuse("cannot be read: it is not JSON");
  }

  Json& value() { return value_; }
  const std::string& wrong() const { return wrong_; }

 private:
  using Members = std::vector<Json::object_t::value_type>;  // object_t without its look-ups
  struct Inside {
    Json* value = nullptr;
    std::unordered_set<std::string> keys;  // of an object
  };

  // Place: puts the next value in its place. Only the innermost object or array grows, so pointers
  // to the outer ones stay valid.
  Json* Place(Json value) {
    if (open_.empty()) return &(value_ = std::move(value));
    if (open_.back().value->is_object()) return &(*member_ = std::move(value));
    auto& elements = open_.back().value->get_ref<Json::array_t&>();
    return &elements.emplace_back(std::move(value));
  }
  bool Counted() {
    return ++count_ <= limits_.values ||
           Refuse(absl::StrCat("has more than ", limits_.values, " values"));
  }
  bool Add(Json value) {
    if (!Counted()) return false;
    Place(std::move(value));
    return true;
  }
  bool Open(Json value) {
    if (!Counted()) return false;
    if (open_.size() >= limits_.depth) {
      return Refuse(absl::StrCat("is nested deeper than ", limits_.depth));
    }
    open_.push_back({Place(std::move(value)), {}});
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
  Json value_;
  Json* member_ = nullptr;    // of the innermost object, whose value comes next
  std::vector<Inside> open_;  // objects and arrays around the current value
  size_t count_ = 0;
  std::string wrong_;
};

}  // namespace

absl::StatusOr<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the JSON is longer than ", limits.bytes, " bytes"));
  }
  Builder builder(limits);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return absl::InvalidArgumentError(absl::StrCat("the JSON ", builder.wrong()));
  }
  return std::move(builder.value());
}

absl::StatusOr<Json> ParseJson(std::span<const uint8_t> text, const JsonLimits& limits) {
  return ParseJson(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()),
                   limits);
}

}  // namespace heft::service
