// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "heft/files.h"

namespace heft {
namespace {

// Objects with many members are read and written in linear time: Parsed sorts members, Printed
// keeps their order.
using Parsed = nlohmann::json;
using Printed = nlohmann::ordered_json;

Json FromLibrary(const Parsed& json) {
  switch (json.type()) {
    case Parsed::value_t::boolean:
      return json.get<bool>();
    case Parsed::value_t::number_integer:
      return json.get<int64_t>();
    case Parsed::value_t::number_unsigned:
      return json.get<uint64_t>();
    case Parsed::value_t::number_float:
      return json.get<double>();
    case Parsed::value_t::string:
      return json.get<std::string>();
    case Parsed::value_t::array: {
      Json out = Json::array();
      for (const Parsed& element : json) out.push_back(FromLibrary(element));
      return out;
    }
    case Parsed::value_t::object: {
      std::vector<Json::Member> members;
      for (const auto& [key, value] : json.items()) members.emplace_back(key, FromLibrary(value));
      return Json::object(std::move(members));
    }
    default:
      return nullptr;
  }
}

Printed ToLibrary(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    Printed out = Printed::array();
    for (const Json& element : json) out.push_back(ToLibrary(element));
    return out;
  }
  if (json.is_object()) {
    Printed out = Printed::object();
    auto& object = out.get_ref<Printed::object_t&>();
    for (const auto& [key, value] : json.members()) {
      object.Printed::object_t::Container::emplace_back(key, ToLibrary(value));
    }
    return out;
  }
  return nullptr;
}

}  // namespace

Json::Json() = default;
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json::Json(std::initializer_list<Json> elements) {
  const bool object = std::all_of(elements.begin(), elements.end(), [](const Json& element) {
    return element.is_array() && element.size() == 2 && element[0].is_string();
  });
  if (!object) {
    value_ = std::vector<Json>(elements);
    return;
  }
  std::vector<Member> members;
  for (const Json& e : elements) members.emplace_back(e[0].get<std::string>(), e[1]);
  value_ = std::move(members);
}

Json Json::array(std::initializer_list<Json> elements) {
  Json json;
  json.value_ = std::vector<Json>(elements);
  return json;
}

Json Json::object(std::vector<Member> members) {
  Json json;
  json.value_ = std::move(members);
  return json;
}

absl::StatusOr<Json> Json::Parse(std::string_view text, int max_depth) {
  using Event = Parsed::parse_event_t;
  bool deep = false;
  const auto stop_when_deep = [&](int depth, Event event, Parsed&) {
    deep |= (event == Event::array_start || event == Event::object_start) && depth >= max_depth;
    return !deep;
  };
  const Parsed json = Parsed::parse(text, stop_when_deep, /*allow_exceptions=*/false);
  if (deep) return absl::InvalidArgumentError("JSON nested too deeply");
  if (json.is_discarded()) return absl::InvalidArgumentError("not JSON");
  return FromLibrary(json);
}

std::string Json::dump(int indent) const {
  return ToLibrary(*this).dump(indent, ' ', false, Printed::error_handler_t::replace);
}

bool Json::is_number_unsigned() const {
  const auto* integer = std::get_if<int64_t>(&value_);
  return std::holds_alternative<uint64_t>(value_) || (integer != nullptr && *integer >= 0);
}

bool Json::is_number_integer() const {
  return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_);
}

size_t Json::size() const { return is_object() ? members().size() : elements().size(); }

const std::vector<Json>& Json::elements() const {
  static const std::vector<Json> none;
  const auto* elements = std::get_if<std::vector<Json>>(&value_);
  return elements != nullptr ? *elements : none;
}

const std::vector<Json::Member>& Json::members() const {
  static const std::vector<Member> none;
  const auto* members = std::get_if<std::vector<Member>>(&value_);
  return members != nullptr ? *members : none;
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

const Json& Json::operator[](std::string_view key) const {
  static const Json null;
  const Json* found = find(key);
  return found != nullptr ? *found : null;
}

Json& Json::operator[](std::string_view key) {
  if (!is_object()) value_ = std::vector<Member>();
  auto& members = std::get<std::vector<Member>>(value_);
  for (Member& member : members) {
    if (member.first == key) return member.second;
  }
  return members.emplace_back(key, Json()).second;
}

void Json::push_back(Json element) {
  if (!is_array()) value_ = std::vector<Json>();
  std::get<std::vector<Json>>(value_).push_back(std::move(element));
}

Json& Json::back() { return std::get<std::vector<Json>>(value_).back(); }

void Json::update(const Json& other) {
  for (const auto& [key, value] : other.members()) (*this)[key] = value;
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (!a.is_number_integer() || !b.is_number_integer()) {
      return a.get<double>() == b.get<double>();
    }
    return a.get<int64_t>() == b.get<int64_t>() && a.is_number_unsigned() == b.is_number_unsigned();
  }
  if (!a.is_object() || !b.is_object()) return a.value_ == b.value_;
  if (a.size() != b.size()) return false;
  return std::all_of(a.members().begin(), a.members().end(), [&](const Json::Member& member) {
    const Json* other = b.find(member.first);
    return other != nullptr && *other == member.second;
  });
}

}  // namespace heft
