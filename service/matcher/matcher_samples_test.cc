// SPDX-License-Identifier: Apache-2.0
// Requests with samples as JSON: accepted and refused forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "service/http/client.h"
#include "service/matcher/samples.h"
#include "service/text.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;

std::string Why(const std::string& type, std::vector<uint8_t> body) {
  HttpRequest request;
  request.headers["content-type"] = type;
  request.body = BodyOf(std::move(body));
  return Message(ReadSampleRequest(request, {"galleries"}).status());
}
std::string WhyJson(const std::string& text) {
  return Why("application/json", {text.begin(), text.end()});
}
std::string WhyForm(const std::string& text) {
  const auto [type, body] =
      FormBody({{"template", "a.ct", std::string(kHeftType), {1, 2, 3}},
                {"request", "", "application/json", {text.begin(), text.end()}}});
  return Why(type, body);
}

TEST(MatcherSamplesTest, JsonIsBounded) {
  const std::string template_json = R"({"template":"QUJD","templateFormat":"heft-sample-1"})";
  EXPECT_EQ(WhyJson("{\"biometricData\":[" + template_json + "]}"), "");
  // Nine short templates are too many; thousands are refused before they are decoded.
  std::string many = "{\"biometricData\":[" + template_json;
  for (int i = 1; i < 9; ++i) many += "," + template_json;
  EXPECT_THAT(WhyJson(many + "]}"), HasSubstr("more than 8 templates"));
  for (int i = 0; i < 5000; ++i) many += ",{}";
  EXPECT_THAT(WhyJson(many + "]}"), HasSubstr("more than 4096 values"));
  EXPECT_THAT(WhyJson("{\"biometricData\":[{\"template\":\"" + std::string(8 << 20, 'A') + "\"}]}"),
              HasSubstr("longer than"));
  EXPECT_EQ(WhyForm(R"({"galleries":["main"]})"), "");
  EXPECT_THAT(WhyForm("{\"galleries\":[\"" + std::string(64 << 10, 'a') + "\"]}"),
              HasSubstr("longer than"));
  EXPECT_THAT(WhyForm("{\"galleries\":" + std::string(100, '[')), HasSubstr("deeper"));
}

}  // namespace
}  // namespace heft::service
