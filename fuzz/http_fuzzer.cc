// SPDX-License-Identifier: Apache-2.0
// HTTP (service/http/): bytes of a client as a request, in one piece and in small ones; then what a
// route does with it: path, query, JSON, forms.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/fuzz.h"
#include "service/http/client.h"
#include "service/http/parsers.h"
#include "service/http/router.h"

namespace heft::fuzz {
namespace {

using service::HttpRequest;
using service::RequestReader;
using State = RequestReader::State;

constexpr uint64_t kMaxBody = 4096;
constexpr uint32_t kMaxHeader = 2048;

struct Read {
  State state = State::kHead;
  service::RequestHead head;
  std::vector<uint8_t> body;
};

Read ReadRequest(ByteSpan input, size_t step) {
  RequestReader reader(kMaxHeader);
  Read out;
  std::vector<uint8_t> in;
  for (size_t at = 0; at < input.size() && reader.state() != State::kDone; at += step) {
    const ByteSpan piece = input.subspan(at, std::min(step, input.size() - at));
    in.insert(in.end(), piece.begin(), piece.end());
    for (size_t used = 1; used > 0 && reader.state() != State::kBad;) {
      used = reader.Feed(in);
      Check(used <= in.size(), "no more used than there is");
      in.erase(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(used));
      if (reader.state() != State::kHeadDone) continue;
      out.head = reader.head();
      reader.ReadBody(kMaxBody, [&](ByteSpan bytes) {
        out.body.insert(out.body.end(), bytes.begin(), bytes.end());
        return std::nullopt;
      });
      used = 1;
    }
    if (reader.state() == State::kBad) break;
  }
  out.state = reader.state();
  Check(out.body.size() <= kMaxBody, "no body beyond its limit");
  if (out.state == State::kBad) {
    const service::HttpProblem& problem = reader.problem();
    Check(problem.http_status >= 400 && problem.http_status < 600, "a refusal is an error");
    Check(!problem.message.empty(), "a refusal has a reason");
  }
  return out;
}

const service::Router& Routes() {
  static const service::Router router = [] {
    service::Router made;
    for (const char* pattern : {"/v1/persons/{person}", "/v1/persons/{person}/encounters",
                                "/v1/identify/{gallery}", "/v1/persons/special"}) {
      service::Route route;
      route.method = "POST";
      route.pattern = route.operation = pattern;
      route.handler = [](const HttpRequest&) { return service::NoContent(); };
      made.Add(std::move(route));
    }
    return made;
  }();
  return router;
}

void UseRequest(const Read& read) {
  Check(!read.head.path.empty() && read.head.path.front() == '/', "a path is absolute");
  Check(!read.head.content_length || *read.head.content_length == read.body.size(),
        "a body is as long as it says");
  HttpRequest request;
  std::vector<std::string> allowed;
  const service::Route* route =
      Routes().Match(read.head.method, read.head.path, &request.parameters, &allowed);
  Check(route == nullptr || !allowed.empty(), "a route that fits is allowed");
  for (const auto& [name, value] : request.parameters) {
    Check(!value.empty() && value != "." && value != "..", "a parameter is a name");
  }
  request.headers = read.head.headers;
  request.body = service::BodyOf(read.body);
  for (const char* type : {"", "application/json", "multipart/form-data; boundary=b"}) {
    if (*type != '\0') request.headers["content-type"] = type;
    const auto json = service::ReadJson(request);
    if (!json.ok()) CheckRefusal(json.status());
    const auto parts = service::ReadParts(request);
    if (!parts.ok()) {
      CheckRefusal(parts.status());
      continue;
    }
    Check(!parts->empty() && parts->size() <= 64, "some parts, and not too many");
    const ByteSpan all = request.bytes();
    std::vector<service::FormPart> again;
    for (const service::Part& part : *parts) {
      Check(
          part.bytes.empty() || (part.bytes.data() >= all.data() &&
                                 part.bytes.data() + part.bytes.size() <= all.data() + all.size()),
          "a part is within the body");
      again.push_back({"name", "", "", {part.bytes.begin(), part.bytes.end()}});
    }
    HttpRequest second;
    auto [form_type, form] = service::FormBody(again);
    second.headers["content-type"] = form_type;
    second.body = service::BodyOf(std::move(form));
    const auto reread = service::ReadParts(second);
    Check(reread.ok() && reread->size() == again.size(), "parts read back as written");
    for (size_t i = 0; i < again.size(); ++i) {
      Check(std::equal((*reread)[i].bytes.begin(), (*reread)[i].bytes.end(), again[i].bytes.begin(),
                       again[i].bytes.end()),
            "a part's bytes stay");
    }
  }
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = 1 + data[0] % 64;
  const heft::ByteSpan input(data + 1, size - 1);
  const auto whole = heft::fuzz::ReadRequest(input, input.size() + 1);
  const auto pieces = heft::fuzz::ReadRequest(input, step);
  const bool done = whole.state == heft::service::RequestReader::State::kDone;
  heft::fuzz::Check(done == (pieces.state == heft::service::RequestReader::State::kDone),
                    "pieces do not matter");
  if (done) {
    heft::fuzz::Check(whole.body == pieces.body && whole.head.headers == pieces.head.headers &&
                          whole.head.target == pieces.head.target,
                      "a request is the same in pieces");
    heft::fuzz::UseRequest(whole);
  }
  return 0;
}
