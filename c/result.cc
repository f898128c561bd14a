// SPDX-License-Identifier: Apache-2.0
#include "c/result.h"

#include <limits>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "c/handles.h"

namespace heft::c {

std::string Hex(std::span<const uint8_t> bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Json FileList(const std::vector<std::vector<uint8_t>>& files) {
  Json json = Json::array();
  for (const std::vector<uint8_t>& file : files) {
    json.push_back(absl::Base64Escape(
        absl::string_view(reinterpret_cast<const char*>(file.data()), file.size())));
  }
  return json;
}

absl::StatusOr<std::vector<std::vector<uint8_t>>> ReadFileList(
    const std::vector<std::string>& texts, const char* what) {
  std::vector<std::vector<uint8_t>> files;
  for (const std::string& text : texts) {
    std::string file;
    if (!absl::Base64Unescape(text, &file)) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, "[", files.size(), "] is no base64 text"));
    }
    files.emplace_back(file.begin(), file.end());
  }
  return files;
}

namespace {

// Member: by a JSON pointer (RFC 6901). kNotFound.
absl::StatusOr<const Json*> Member(const Json& json, absl::string_view pointer) {
  const Json* at = &json;
  if (pointer.empty()) return at;
  const auto missing = [&] {
    return absl::NotFoundError(absl::StrCat("the result has no member \"", pointer, "\""));
  };
  if (pointer[0] != '/') return missing();
  for (const absl::string_view part : absl::StrSplit(pointer.substr(1), '/')) {
    if (at->is_object()) {
      at = at->find(absl::StrReplaceAll(part, {{"~1", "/"}, {"~0", "~"}}));
    } else {
      uint64_t index = 0;
      const bool there =
          at->is_array() && absl::SimpleAtoi(part, &index) && index < at->elements().size();
      at = there ? &at->elements()[index] : nullptr;
    }
    if (at == nullptr) return missing();
  }
  return at;
}

absl::Status IsNo(absl::string_view member, const char* type) {
  return absl::InvalidArgumentError(absl::StrCat("member \"", member, "\" is not of type ", type));
}

// Kept: a text of a result that stays for as long as it does.
const char* Kept(const heft_result& result, const std::string& key, const Json& json) {
  const std::lock_guard lock(result.mutex);
  const auto found = result.texts.find(key);
  if (found != result.texts.end()) return found->second.c_str();
  std::string text = key == ":" ? json.dump() : json.get<std::string>();
  return result.texts.emplace(key, std::move(text)).first->second.c_str();
}

absl::Status Take(const Json& json, absl::string_view member, int64_t* value) {
  if (!json.is_number_integer()) return IsNo(member, "integer");
  if (json.is_number_unsigned() &&
      json.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return absl::OutOfRangeError(absl::StrCat("member \"", member, "\" is beyond 2^63 - 1"));
  }
  *value = json.get<int64_t>();
  return absl::OkStatus();
}

absl::Status Take(const Json& json, absl::string_view member, double* value) {
  if (!json.is_number()) return IsNo(member, "number");
  *value = json.get<double>();
  return absl::OkStatus();
}

absl::Status Take(const Json& json, absl::string_view member, bool* value) {
  if (!json.is_boolean()) return IsNo(member, "flag");
  *value = json.get<bool>();
  return absl::OkStatus();
}

absl::Status Take(const Json& json, absl::string_view member, size_t* value) {
  if (!json.is_array() && !json.is_object()) return IsNo(member, "array or object");
  *value = json.size();
  return absl::OkStatus();
}

template <typename T, typename Out>
heft_status Get(const heft_result* result, const char* member, Out* value, heft_error** error,
                const char* name = "value") {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(result, "result", member, "member", value, name));
    HEFT_ASSIGN_OR_RETURN(const Json* found, Member(result->json, member));
    T taken{};
    HEFT_RETURN_IF_ERROR(Take(*found, member, &taken));
    *value = taken;
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace heft::c

using heft::Json;
using heft::c::Call;
using heft::c::Get;
using heft::c::Given;

void heft_result_free(heft_result* result) { heft::c::Free(result); }

heft_status heft_result_json(const heft_result* result, const char** text, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(result, "result", text, "text"));
    *text = heft::c::Kept(*result, ":", result->json);
    return absl::OkStatus();
  });
}

heft_status heft_result_text(const heft_result* result, const char* member, const char** text,
                             heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(result, "result", member, "member", text, "text"));
    HEFT_ASSIGN_OR_RETURN(const Json* found, heft::c::Member(result->json, member));
    if (!found->is_string()) return heft::c::IsNo(member, "text");
    *text = heft::c::Kept(*result, member, *found);
    return absl::OkStatus();
  });
}

heft_status heft_result_integer(const heft_result* result, const char* member, int64_t* value,
                                heft_error** error) {
  return Get<int64_t>(result, member, value, error);
}

heft_status heft_result_number(const heft_result* result, const char* member, double* value,
                               heft_error** error) {
  return Get<double>(result, member, value, error);
}

heft_status heft_result_flag(const heft_result* result, const char* member, int* value,
                             heft_error** error) {
  return Get<bool>(result, member, value, error);
}

heft_status heft_result_size(const heft_result* result, const char* member, size_t* size,
                             heft_error** error) {
  return Get<size_t>(result, member, size, error, "size");
}
