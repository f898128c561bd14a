// SPDX-License-Identifier: Apache-2.0
#include "c/call.h"

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "c/handles.h"

namespace heft::c {
namespace {

// The error for failed allocations of errors; it is never freed or changed.
heft_error& NoMemory() {
  static heft_error* const error = [] {
    static heft_error made;
    made.status = HEFT_OUT_OF_MEMORY;
    return &made;
  }();
  return *error;
}

constexpr std::chrono::milliseconds kBetweenSteps(50);

}  // namespace

heft_status Report(heft_error** error, heft_status status, std::string_view message) noexcept {
  if (error == nullptr) return status;
  try {
    const bool usable =
        *error != nullptr && *error != &NoMemory() && (*error)->tag == heft_error::kTag;
    std::string text(message);
    if (!usable) *error = new heft_error;
    (*error)->status = status;
    (*error)->message = std::move(text);
    return status;
  } catch (...) {
    heft_error_free(*error);
    *error = &NoMemory();
    return HEFT_OUT_OF_MEMORY;
  }
}

heft_status KindOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return static_cast<heft_status>(status.code());
    default:
      return HEFT_INTERNAL;
  }
}

absl::Status IsNull(const char* name) {
  return absl::InvalidArgumentError(absl::StrCat(name, " is NULL"));
}

absl::Status IsAnother(const char* name, const char* type) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is not a ", type, ": it was freed, or is an object of another type"));
}

absl::Status GivenBytes(const char* name, heft_bytes bytes) {
  if (bytes.size > PTRDIFF_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has a size of ", bytes.size, ", which is more than any memory"));
  }
  if (bytes.data != nullptr || bytes.size == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is NULL, with a size of ", bytes.size));
}

Monitor AsMonitor(heft_monitor monitor, void* user) {
  if (monitor == nullptr) return {};
  struct Last {
    std::string what;
    std::chrono::steady_clock::time_point time;
  };
  // Copies of the function share it.
  return [monitor, user, last = std::make_shared<Last>()](const ProgressEvent& event) {
    const auto now = std::chrono::steady_clock::now();
    const bool ends = event.total > 0 && event.done == event.total;
    if (!ends && event.what == last->what && now - last->time < kBetweenSteps) return true;
    *last = {std::string(event.what), now};
    return CallBack(monitor, user, last->what.c_str(), event.done, event.total,
                    std::string(event.note).c_str()) == 0;
  };
}

}  // namespace heft::c

using heft::c::Free;
using heft::c::NoMemory;

heft_status heft_error_status(const heft_error* error) {
  return error == nullptr ? HEFT_OK : error->status;
}

const char* heft_error_message(const heft_error* error) {
  if (error == nullptr) return "";
  return error == &NoMemory() ? "out of memory" : error->message.c_str();
}

void heft_error_free(heft_error* error) {
  if (error != &NoMemory()) Free(error);
}

const char* heft_status_name(heft_status status) {
  switch (status) {
    case HEFT_OK:
      return "OK";
    case HEFT_CANCELLED:
      return "CANCELLED";
    case HEFT_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case HEFT_NOT_FOUND:
      return "NOT_FOUND";
    case HEFT_ALREADY_EXISTS:
      return "ALREADY_EXISTS";
    case HEFT_RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case HEFT_FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case HEFT_OUT_OF_RANGE:
      return "OUT_OF_RANGE";
    case HEFT_INTERNAL:
      return "INTERNAL";
    case HEFT_UNAVAILABLE:
      return "UNAVAILABLE";
    case HEFT_DATA_LOSS:
      return "DATA_LOSS";
    case HEFT_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
  }
  return "UNKNOWN";
}
