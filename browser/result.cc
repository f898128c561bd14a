// SPDX-License-Identifier: Apache-2.0
#include "browser/result.h"

#include <emscripten/emscripten.h>

#include <utility>

#include "base/secure.h"
#include "heft/files.h"

namespace heft::browser {
namespace {

std::vector<uint8_t> g_result;

}  // namespace

int Succeed(std::vector<uint8_t> bytes) {
  g_result = std::move(bytes);
  return 1;
}

int Succeed(const std::string& text) {
  return Succeed(std::vector<uint8_t>(text.begin(), text.end()));
}

int Fail(const absl::Status& status) {
  const Json error = {{"kind", absl::StatusCodeToString(status.code())},
                      {"message", std::string(status.message())}};
  Succeed(error.dump());
  return 0;
}

extern "C" {

EMSCRIPTEN_KEEPALIVE const uint8_t* heft_result() { return g_result.data(); }
EMSCRIPTEN_KEEPALIVE size_t heft_result_size() { return g_result.size(); }
EMSCRIPTEN_KEEPALIVE void heft_result_release() {
  SecureWipe(g_result.data(), g_result.size());  // it may be a signing key
  g_result = {};
}

}  // extern "C"

}  // namespace heft::browser
