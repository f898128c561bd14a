// SPDX-License-Identifier: Apache-2.0
#include "service/http/parsers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heft::service {
namespace {

using ::testing::HasSubstr;
using State = RequestReader::State;

// Outcome: the result of a reader for bytes in pieces of `step`.
struct Outcome {
  State state = State::kHead;
  int status = 0;
  std::string message, body, rest;
  RequestHead head;
};

Outcome ReadAll(std::string_view text, size_t step = 1 << 20, uint64_t most = 1000,
                uint32_t header = 4096) {
  RequestReader reader(header);
  Outcome out;
  std::vector<uint8_t> in;
  for (size_t at = 0; at < text.size() || !in.empty();) {
    const std::string_view piece = text.substr(at, step);
    at += piece.size();
    in.insert(in.end(), piece.begin(), piece.end());
    size_t used = 1;
    while (used > 0) {
      used = reader.Feed(in);
      in.erase(in.begin(), in.begin() + used);
      if (reader.state() == State::kHeadDone) {
        out.head = reader.head();
        reader.ReadBody(most, [&](std::span<const uint8_t> bytes) {
          out.body.append(bytes.begin(), bytes.end());
          return std::nullopt;
        });
        used = 1;
      }
      if (reader.state() == State::kDone || reader.state() == State::kBad) break;
    }
    if (reader.state() == State::kDone || reader.state() == State::kBad) {
      out.rest = std::string(in.begin(), in.end()) + std::string(text.substr(at));
      break;
    }
    if (at >= text.size()) break;
  }
  out.state = reader.state();
  if (out.state == State::kBad) {
    out.status = reader.problem().http_status;
    out.message = reader.problem().message;
  }
  return out;
}

const char kStart[] = "POST /a/b?c=d HTTP/1.1\r\nHost: x\r\n";

TEST(ParsersTest, BodiesInAnyPieces) {
  const std::string plain = std::string(kStart) + "Content-Length: 11\r\n\r\nhello worldGET /";
  const std::string chunked = std::string(kStart) +
                              "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n"
                              "0\r\n\r\nGET /";
  for (const std::string& text : {plain, chunked}) {
    for (const size_t step : {1, 2, 3, 7, 50, 1000}) {
      const Outcome out = ReadAll(text, step);
      ASSERT_EQ(out.state, State::kDone) << step << out.message;
      EXPECT_EQ(out.body, "hello world");
      EXPECT_EQ(out.rest, "GET /");
      EXPECT_EQ(out.head.path, "/a/b");
      EXPECT_EQ(out.head.query.at("c"), "d");
      EXPECT_EQ(out.head.headers.at("host"), "x");
      EXPECT_TRUE(out.head.keep_alive);
    }
  }
}

TEST(ParsersTest, WithoutABody) {
  const Outcome out = ReadAll("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(out.state, State::kDone);
  EXPECT_FALSE(out.head.keep_alive);
  EXPECT_FALSE(out.head.has_body());
}

TEST(ParsersTest, WhatTwoReadersCouldTakeDifferentlyIsRefused) {
  const std::string start = kStart;
  const std::vector<std::pair<std::string, int>> wrong = {
      {start + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {start + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400},
      {start + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400},
      {start + "Content-Length: 3, 3\r\n\r\nabc", 400},
      {start + "Content-Length: +3\r\n\r\nabc", 400},
      {start + "Content-Length: -1\r\n\r\n", 400},
      {start + "Content-Length: 99999999999999999999999\r\n\r\n", 400},
      {start + "Transfer-Encoding: gzip\r\n\r\n", 501},
      {start + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {start + "Host: y\r\n\r\n", 400},
      {start + "Authorization: a\r\nauthorization: b\r\n\r\n", 400},
      {start + "X-Heft-Nonce: a\r\nX-Heft-Nonce: a\r\n\r\n", 400},
      {start + "Content-Encoding: gzip\r\n\r\n", 415},
      {start + "Expect: magic\r\n\r\n", 417},
      {start + "Bad Name: x\r\n\r\n", 400},
      {start + "X: a\rb\r\n\r\n", 400},
      {start + "X : x\r\n\r\n", 400},
      {start + "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", 400},
      {start + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n0\r\n\r\n", 400},
      {start + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", 400},
      {start + "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: y\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nHost: x\r\n\r\n", 505},
      {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 400},
      {"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /a/../b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /a/%2e%2E/b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /#x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"\x16\x03\x01\x02garbage\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
  };
  for (const auto& [text, status] : wrong) {
    for (const size_t step : {1, 5, 1000}) {
      const Outcome out = ReadAll(text, step);
      EXPECT_EQ(out.state, State::kBad) << text;
      EXPECT_EQ(out.status, status) << text << out.message;
    }
  }
}

// RFC 9112, section 5.2: a folded line belongs to the one before it, after a space.
TEST(ParsersTest, FoldedLinesAreOneValue) {
  const Outcome out = ReadAll("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n Host: y\r\n\r\n");
  ASSERT_EQ(out.state, State::kDone);
  EXPECT_EQ(out.head.headers.at("host"), "x");
  EXPECT_EQ(out.head.headers.at("a"), "b Host: y");
}

TEST(ParsersTest, SizesAreBounded) {
  const std::string start = kStart;
  EXPECT_EQ(ReadAll(start + "X: " + std::string(5000, 'x')).status, 431);
  EXPECT_EQ(ReadAll("GET /" + std::string(5000, 'x')).status, 431);
  std::string many = start;
  for (int i = 0; i < 101; ++i) many += "X" + std::to_string(i) + ": y\r\n";
  EXPECT_EQ(ReadAll(many + "\r\n", 100, 1000, 1 << 16).status, 431);
  EXPECT_EQ(ReadAll(start + "Content-Length: 1001\r\n\r\n" + std::string(1001, 'x')).status, 413);
  EXPECT_EQ(ReadAll(start + "Content-Length: 1000\r\n\r\n" + std::string(1000, 'x')).state,
            State::kDone);
  std::string chunks = start + "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 11; ++i) chunks += "64\r\n" + std::string(100, 'x') + "\r\n";
  const Outcome out = ReadAll(chunks);
  EXPECT_EQ(out.status, 413);
  EXPECT_LE(out.body.size(), 1000u);
}

TEST(ParsersTest, HeadersOfAnswersCannotBeSplit) {
  HttpResponse response = NoContent();
  response.headers = {{"Good", "x"}, {"Bad", "x\r\nSet-Cookie: y"}, {"B\r\nad", "x"}};
  const std::string head = FormatHead(response, "id", true);
  EXPECT_THAT(head, HasSubstr("Good: x\r\n"));
  EXPECT_THAT(head, ::testing::Not(HasSubstr("Set-Cookie")));
  EXPECT_THAT(head, ::testing::Not(HasSubstr("Bad")));
  EXPECT_THAT(head, ::testing::Not(HasSubstr("Content-Length")));  // of 204
}

}  // namespace
}  // namespace heft::service
