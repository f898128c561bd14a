// SPDX-License-Identifier: Apache-2.0
#include "service/http/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/http/client.h"
#include "service/http/router.h"
#include "service/text.h"

namespace heft::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HttpRequest Request(std::string_view body, std::string type) {
  HttpRequest request;
  request.headers["content-type"] = std::move(type);
  request.body = BodyOf({body.begin(), body.end()});
  return request;
}

std::string TextOf(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

TEST(MessageTest, EscapesAreDecodedOnceAndWholly) {
  EXPECT_EQ(*DecodePercent("a%20b%2Fc%c3%A9"), "a b/c\u00e9");
  EXPECT_EQ(*DecodePercent("%2525"), "%25");
  EXPECT_EQ(*DecodePercent("a+b"), "a+b");
  EXPECT_EQ(*DecodePercent("a+b", true), "a b");
  for (const char* wrong : {"%", "%4", "%zz", "a%00b", "%0d%0a", "%7f"}) {
    EXPECT_FALSE(DecodePercent(wrong).ok()) << wrong;
  }
  EXPECT_EQ(EncodePercent("a b/\u00e9~"), "a%20b%2F%C3%A9~");
}

TEST(MessageTest, Queries) {
  const auto query = ParseQuery("a=1&b=x%26y&c&a=2&&d==");
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->at("a"), "2");
  EXPECT_EQ(query->at("b"), "x&y");
  EXPECT_EQ(query->at("c"), "");
  EXPECT_EQ(query->at("d"), "=");
  EXPECT_FALSE(ParseQuery("a=%").ok());
  std::string many;
  for (int i = 0; i < 65; ++i) many += "&a=1";
  EXPECT_FALSE(ParseQuery(many).ok());
}

TEST(MessageTest, JsonIsStrict) {
  EXPECT_EQ(ReadJson(Request(R"({"a":[1,{"b":2}],"c":{"a":3}})", "application/json"))->at("c")["a"],
            3);
  EXPECT_TRUE(ReadJson(Request("{}", "Application/JSON; charset=utf-8")).ok());
  EXPECT_THAT(Message(ReadJson(Request("{}", "text/plain")).status()), HasSubstr("Content-Type"));
  EXPECT_THAT(Message(ReadJson(Request("{", "application/json")).status()), HasSubstr("not JSON"));
  EXPECT_THAT(Message(ReadJson(Request("[1,2,3]", "application/json"), {.values = 3}).status()),
              HasSubstr("more than 3"));
}

TEST(MessageTest, FormsComeBackAsTheyWere) {
  const std::vector<FormPart> sent = {
      {"face", "face.ct", "application/vnd.heft", {0, 1, 255, 13, 10}},
      {"empty", "", "", {}},
      {"text", "", "text/plain", {'-', '-', 'h', 'e', 'f', 't'}}};
  const auto [type, body] = FormBody(sent);
  const HttpRequest request =
      Request({reinterpret_cast<const char*>(body.data()), body.size()}, type);
  const auto parts = ReadParts(request);
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*parts)[i].name, sent[i].name);
    EXPECT_EQ((*parts)[i].file_name, sent[i].file_name);
    EXPECT_EQ((*parts)[i].content_type, sent[i].content_type);
    EXPECT_EQ(TextOf((*parts)[i].bytes), TextOf(sent[i].bytes));
  }
}

TEST(MessageTest, FormsOfOthers) {
  const std::string type = "multipart/form-data; charset=x; boundary=\"a b\"";
  const HttpRequest request = Request(
      "--a b\r\ncontent-disposition: form-data; filename=\"q\\\"x;y\" ; name=one\r\n\r\n1\r\n"
      "--a b\r\nX: y\r\nContent-Disposition: form-data; name=\"two\"\r\n\r\n\r\n--a b--\r\n",
      type);
  const auto parts = ReadParts(request);
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].name, "one");
  EXPECT_EQ((*parts)[0].file_name, "q\"x;y");
  EXPECT_EQ(TextOf((*parts)[0].bytes), "1");
  EXPECT_EQ((*parts)[1].name, "two");
  EXPECT_TRUE((*parts)[1].bytes.empty());
}

TEST(MessageTest, FormsThatAreNone) {
  const std::string part = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n";
  const std::string type = "multipart/form-data; boundary=b";
  ASSERT_TRUE(ReadParts(Request(part + "--b--", type)).ok());
  std::string many;
  for (int i = 0; i < 65; ++i) many += part;
  const std::string long_header = "--b\r\nX: " + std::string(5000, 'x') +
                                  "\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--";
  for (const std::string& wrong :
       {std::string(), std::string("--b--"), part, part + "--b", "x" + part + "--b--",
        std::string("--b\r\n\r\nx\r\n--b--"),
        std::string("--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--"),
        std::string("--b\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--b--"),
        std::string("--b\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--b--"),
        std::string("--b\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: "
                    "base64\r\n\r\nx\r\n--b--"),
        std::string("--b\r\nno colon\r\n\r\nx\r\n--b--"), many + "--b--", long_header}) {
    EXPECT_EQ(ReadParts(Request(wrong, type)).status().code(), absl::StatusCode::kInvalidArgument)
        << wrong.substr(0, 100);
  }
  EXPECT_TRUE(ReadParts(Request(many + "--b--", type), 65).ok());
  EXPECT_FALSE(ReadParts(Request(part + "--b--", "multipart/form-data")).ok());
  EXPECT_FALSE(ReadParts(Request(part + "--b--", "multipart/mixed; boundary=b")).ok());
  EXPECT_FALSE(ReadParts(Request(part, "multipart/form-data; boundary=\"b")).ok());
}

TEST(MessageTest, ErrorsSayWhatTheyMayAndNoMore) {
  const auto text = [](const HttpResponse& response) { return TextOf(response.body); };
  const HttpResponse missing = ErrorResponse(absl::NotFoundError("no person \"x\""));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(text(missing), R"({"code":"NOT_FOUND","message":"no person \"x\""})");
  const HttpResponse inside = ErrorResponse(absl::InternalError("/secret/path"));
  EXPECT_EQ(inside.status, 500);
  EXPECT_THAT(text(inside), ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(inside.detail, "/secret/path");
  EXPECT_THAT(ErrorResponse(absl::ResourceExhaustedError("x")).headers,
              ElementsAre(std::pair<std::string, std::string>("Retry-After", "1")));
}

Route Of(std::string method, std::string pattern) {
  Route route;
  route.operation = method + pattern;
  route.method = std::move(method);
  route.pattern = std::move(pattern);
  route.handler = [](const HttpRequest&) { return NoContent(); };
  return route;
}

TEST(RouterTest, FindsTheMostPreciseRoute) {
  Router router;
  router.Add(Of("GET", "/v1/persons/{person}"));
  router.Add(Of("DELETE", "/v1/persons/{person}"));
  router.Add(Of("GET", "/v1/persons/special"));
  router.Add(Of("GET", "/v1/persons/{person}/encounters/{encounter}"));
  std::map<std::string, std::string> parameters;
  std::vector<std::string> allowed;
  const auto match = [&](const std::string& method, const std::string& path) {
    const Route* route = router.Match(method, path, &parameters, &allowed);
    return route == nullptr ? std::string() : route->pattern;
  };
  EXPECT_EQ(match("GET", "/v1/persons/ann"), "/v1/persons/{person}");
  EXPECT_EQ(parameters["person"], "ann");
  EXPECT_EQ(match("GET", "/v1/persons/special"), "/v1/persons/special");
  EXPECT_TRUE(parameters.empty());
  EXPECT_EQ(match("GET", "/v1/persons/a%2Fb/encounters/%20"),
            "/v1/persons/{person}/encounters/{encounter}");
  EXPECT_EQ(parameters["person"], "a/b");
  EXPECT_EQ(parameters["encounter"], " ");
  // All spellings of a name give one person; a segment that is not a name stays as it is.
  EXPECT_EQ(match("GET", "/v1/persons/Ame%CC%81lie"), "/v1/persons/{person}");
  EXPECT_EQ(parameters["person"], "Am\u00e9lie");
  EXPECT_EQ(match("GET", "/v1/persons/ann%20"), "/v1/persons/{person}");
  EXPECT_EQ(parameters["person"], "ann ");
  EXPECT_EQ(match("PUT", "/v1/persons/ann"), "");
  EXPECT_THAT(allowed, ElementsAre("DELETE", "GET"));
  for (const char* none : {"/v1/persons", "/v1/persons/", "/v1/persons/a/b", "/v1//persons/a",
                           "/v1/persons/%", "/v1/persons/a/encounters/", "", "/", "//"}) {
    EXPECT_EQ(match("GET", none), "") << none;
    EXPECT_TRUE(allowed.empty()) << none;
  }
}

TEST(RouterDeathTest, TheSameTwiceIsAMistakeOfOurs) {
  Router router;
  router.Add(Of("GET", "/v1/persons/{person}"));
  EXPECT_DEATH(router.Add(Of("GET", "/v1/persons/{other}")), "twice");
}

}  // namespace
}  // namespace heft::service
