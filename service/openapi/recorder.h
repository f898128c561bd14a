// SPDX-License-Identifier: Apache-2.0
// For tests only: records answers of services for tests/service/contract.mjs, which checks them
// against heft.yaml. With HEFT_OPENAPI_RECORDS=FOLDER each program writes FOLDER/NAME.jsonl.
#ifndef HEFT_SERVICE_OPENAPI_RECORDER_H_
#define HEFT_SERVICE_OPENAPI_RECORDER_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>

#include "service/http/client.h"
#include "service/http/router.h"
#include "service/json.h"

namespace heft::service::testing {

// Records: of one test program; `name` is its own.
class Records {
 public:
  explicit Records(const std::string& name) {
    const char* folder = std::getenv("HEFT_OPENAPI_RECORDS");
    if (folder == nullptr) return;
    std::filesystem::create_directories(folder);
    out_.open(std::string(folder) + "/" + name + ".jsonl", std::ios::trunc);
  }
  // Routes: all of a service's, by `tag` "matcher" or "decider".
  void Routes(const std::string& tag, const Router& router) {
    Json routes = Json::array();
    for (const Route& route : router.routes()) {
      routes.push_back({{"method", route.method},
                        {"path", route.pattern},
                        {"operation", route.operation},
                        {"signed", route.signed_request}});
    }
    Write({{"routes", routes}, {"tag", tag}});
  }
  void Answer(const ClientRequest& request, const HttpResponse& response) {
    Json headers = Json::object();
    for (const auto& [key, value] : response.headers) headers[key] = value;
    Json line = {{"method", request.method},  {"target", request.target},
                 {"status", response.status}, {"type", response.content_type},
                 {"headers", headers},        {"bytes", response.body.size()}};
    if (response.content_type.find("json") != std::string::npos) {
      line["body"] = std::string(response.body.begin(), response.body.end());
    }
    Write(line);
  }

 private:
  void Write(const Json& line) {
    const std::lock_guard lock(mutex_);
    if (!out_.is_open()) return;
    out_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
    out_.flush();
  }
  std::mutex mutex_;
  std::ofstream out_;
};

// RecordingClient: a client whose answers are recorded, except for paths that begin with `own`,
// which belong to the test.
class RecordingClient : public HttpClient {
 public:
  RecordingClient(std::unique_ptr<HttpClient> client, Records* records, std::string own)
      : client_(std::move(client)), records_(records), own_(std::move(own)) {}
  absl::StatusOr<HttpResponse> Send(const ClientRequest& request) override {
    auto response = client_->Send(request);
    if (response.ok() && !request.target.starts_with(own_)) records_->Answer(request, *response);
    return response;
  }

 private:
  const std::unique_ptr<HttpClient> client_;
  Records* const records_;
  const std::string own_;
};

}  // namespace heft::service::testing

#endif  // HEFT_SERVICE_OPENAPI_RECORDER_H_
