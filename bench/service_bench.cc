// SPDX-License-Identifier: Apache-2.0
// service_bench: identification through a matcher and a decider over TLS on loopback, against the
// library's calls in the same process, turn by turn; and the throughput of many connections against
// the library's batches.
//
//   service_bench FOLDER [TEMPLATES = 10000] [PROBES = 40] [CONNECTIONS = 64] [SECONDS = 20]
//
// FOLDER is made, or one that this program or gallery_bench has made. Prints JSON.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status.h"
#include "bench/gallery_world.h"
#include "experiment/stopwatch.h"
#include "heft/base.h"
#include "service/json.h"
#include "service/matcher/forward.h"
#include "service/matcher/state.h"
#include "service/testing.h"

namespace heft::bench {
namespace {

using experiment::Stopwatch;
using namespace heft::service;  // NOLINT: half of this file is its

struct Options {
  std::string folder;
  size_t templates = 10000, probes = 40, connections = 64, seconds = 20;
};

// A decider with one route, to measure the opening of a reply and its way there.
Router DeciderRoutes(const KeyOwner* owner) {
  Router router;
  Route route = {"POST", "/v1/decisions", "decide", Scope::kDecide, {}};
  route.handler = [owner](const HttpRequest& request) {
    const auto decision = owner->Decide(request.bytes(), "reply", 0.9);
    if (!decision.ok()) return ErrorResponse(decision.status());
    return JsonResponse({{"accepted", decision->accepted}, {"jws", "a.b.c"}});
  };
  route.most_bytes = uint64_t{1} << 28;
  route.signed_request = true;
  router.Add(std::move(route));
  return router;
}

// Services: both, each with a certificate authority of its own.
class Services {
 public:
  static absl::StatusOr<std::unique_ptr<Services>> Start(const World& world,
                                                         const Options& options) {
    auto out = std::unique_ptr<Services>(new Services);
    testing::TestService::Options serve;
    serve.limits.workers = static_cast<uint32_t>(options.connections) + 16;
    serve.limits.deadline = std::chrono::seconds(600);
    out->decider_ = std::make_unique<testing::TestService>(DeciderRoutes(&world.owner), serve);
    HEFT_ASSIGN_OR_RETURN(
        auto client,
        HttpClient::Create(out->decider_->url(),
                           *TlsContext::ForClient(out->decider_->ca().Issue("machine"))));
    MatcherConfig config;
    config.store = world.gallery;
    config.files.model = world.folder + "/model.heft";
    config.files.evaluation_keys = world.folder + "/keys/evaluation.keys";
    config.files.enrolment_keys = world.folder + "/keys/enrolment.keys";
    config.files.trust = world.folder + "/keys/trust.heft";
    config.exchange.poll = std::chrono::hours(1);  // nothing is enrolled here
    out->log_ = std::filesystem::temp_directory_path() / absl::StrCat("service-bench-", getpid());
    HEFT_ASSIGN_OR_RETURN(out->audit_log_, AuditLog::Open(out->log_));
    HEFT_ASSIGN_OR_RETURN(auto engine, LoadEngine(config.files));
    out->state_ = std::make_unique<MatcherState>(
        config, std::move(engine), std::make_shared<HttpDecider>(std::move(client)), nullptr,
        out->audit_log_.get(), out->metrics_.get());
    out->state_->exchange.Stop();
    Router router;
    AddMatcherRoutes(out->state_.get(), &router);
    out->matcher_ = std::make_unique<testing::TestService>(std::move(router), serve);
    out->tls_ = *TlsContext::ForClient(out->matcher_->ca().Issue("client"));
    return out;
  }
  ~Services() {
    matcher_.reset();
    state_.reset();
    std::filesystem::remove(log_);
  }
  // The mean of all passes.
  double ProbesAPass() const {
    const std::string text = metrics_->Text();
    const auto value = [&](const std::string& name) {
      const size_t at = text.find("\n" + name + " ");
      return at == text.npos ? 0 : std::stod(text.substr(at + name.size() + 2));
    };
    return value("heft_batch_probes_sum") / std::max(1.0, value("heft_batch_probes_count"));
  }
  std::unique_ptr<HttpClient> Connect() { return *HttpClient::Create(matcher_->url(), tls_); }

 private:
  Services() = default;
  std::string log_;
  std::unique_ptr<Metrics> metrics_ = Metrics::Create();
  std::unique_ptr<AuditLog> audit_log_;
  std::unique_ptr<testing::TestService> decider_, matcher_;
  std::unique_ptr<MatcherState> state_;
  std::shared_ptr<TlsContext> tls_;
};

ClientRequest RequestOf(const std::vector<SampleFile>& files, const std::string& accept) {
  std::vector<FormPart> parts;
  for (const SampleFile& file : files) parts.push_back({"template", file.name, "", file.bytes});
  ClientRequest request;
  request.method = "POST";
  request.target = "/v1/identify/main";
  std::tie(request.content_type, request.body) = FormBody(parts);
  request.headers.emplace_back("Accept", accept);
  request.deadline = std::chrono::seconds(600);
  return request;
}

// CpuSeconds: of all threads of this process, clients included.
double CpuSeconds() {
  rusage use = {};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

double Quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<size_t>(share * values.size()))];
}

service::Json Describe(const std::vector<double>& times, const std::vector<double>& base) {
  return {{"p50_ms", Quantile(times, 0.5)},
          {"p99_ms", Quantile(times, 0.99)},
          {"p50_ratio", Quantile(times, 0.5) / Quantile(base, 0.5)},
          {"p99_ratio", Quantile(times, 0.99) / Quantile(base, 0.99)}};
}

absl::StatusOr<double> Timed(HttpClient* client, const ClientRequest& request) {
  const Stopwatch watch;
  HEFT_ASSIGN_OR_RETURN(const HttpResponse response, client->Send(request));
  if (response.status == 200) return watch.Milliseconds();
  return absl::InternalError(
      absl::StrCat(response.status, ": ", std::string(response.body.begin(), response.body.end())));
}

absl::Status Latency(const World& world, Services* services, size_t probes, service::Json* out) {
  const auto client = services->Connect();
  HEFT_ASSIGN_OR_RETURN(Gallery gallery, Gallery::Open(world.gallery));
  std::vector<double> library, decided, reply, decision;
  for (size_t i = 0; i < probes + 3; ++i) {
    HEFT_ASSIGN_OR_RETURN(const auto files,
                          Encrypt(world, 5000 + i, "probe", SampleUse::kIdentification));
    const Stopwatch watch;
    HEFT_ASSIGN_OR_RETURN(gallery, gallery.Newest());
    HEFT_ASSIGN_OR_RETURN(const auto scores, world.server.Identify(gallery, files));
    const double matched = watch.Milliseconds();
    HEFT_RETURN_IF_ERROR(world.owner.Decide(scores, "reply", 0.9).status());
    const double opened = watch.Milliseconds();
    HEFT_ASSIGN_OR_RETURN(const double replied,
                          Timed(client.get(), RequestOf(files, "application/vnd.heft")));
    HEFT_ASSIGN_OR_RETURN(const double said,
                          Timed(client.get(), RequestOf(files, "application/json")));
    if (i < 3) continue;  // blocks are checked and keys made ready by the first
    library.push_back(matched);
    decided.push_back(opened);
    reply.push_back(replied);
    decision.push_back(said);
  }
  (*out)["library_identify"] = Describe(library, library);
  (*out)["library_identify_and_decide"] = Describe(decided, library);
  (*out)["service_reply_over_identify"] = Describe(reply, library);
  (*out)["service_decision_over_identify"] = Describe(decision, library);
  (*out)["service_decision_over_identify_and_decide"] = Describe(decision, decided);
  return absl::OkStatus();
}

absl::Status Throughput(const World& world, Services* services, const Options& options,
                        service::Json* out) {
  HEFT_ASSIGN_OR_RETURN(const auto files,
                        Encrypt(world, 9000, "probe", SampleUse::kIdentification));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(world.gallery));
  const std::vector<ProbeRequest> batch(64, ProbeRequest{files});
  size_t answered = 0;
  const double before = CpuSeconds();
  const Stopwatch library;
  do {
    for (const auto& reply : world.server.IdentifyTogether(gallery, batch)) {
      HEFT_RETURN_IF_ERROR(reply.status());
      ++answered;
    }
  } while (library.Seconds() < static_cast<double>(options.seconds));
  const double library_rate = static_cast<double>(answered) / library.Seconds();
  const double between = CpuSeconds();
  std::atomic<size_t> done = 0, failed = 0;
  std::atomic<bool> stop = false;
  const ClientRequest request = RequestOf(files, "application/vnd.heft");
  std::vector<std::thread> threads;
  const Stopwatch watch;
  for (size_t i = 0; i < options.connections; ++i) {
    threads.emplace_back([&] {
      const auto client = services->Connect();
      while (!stop) (Timed(client.get(), request).ok() ? done : failed) += 1;
    });
  }
  while (watch.Seconds() < static_cast<double>(options.seconds)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double rate = static_cast<double>(done) / watch.Seconds();
  (*out)["connections"] = options.connections;
  (*out)["probes_a_pass"] = services->ProbesAPass();
  (*out)["library_batches_per_s"] = library_rate;
  (*out)["service_per_s"] = rate;
  (*out)["throughput_ratio"] = rate / library_rate;
  (*out)["library_cpu_ms_a_probe"] = 1000 * (between - before) / static_cast<double>(answered);
  (*out)["service_cpu_ms_a_probe"] = 1000 * (CpuSeconds() - between) / static_cast<double>(done);
  (*out)["refused"] = failed.load();
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  nlohmann::json building;
  const bool is_there = FileExists(options.folder);
  HEFT_ASSIGN_OR_RETURN(World world,
                        is_there ? OpenWorld(options.folder) : MakeWorld(options.folder));
  HEFT_RETURN_IF_ERROR(world.owner.SetBudget({.scores = 1000,
                                              .decisions = 1u << 30,
                                              .client_bits = uint64_t{1} << 40,
                                              .rejections = 1u << 30}));
  if (!is_there) HEFT_RETURN_IF_ERROR(Fill(world, options.templates, &building));
  HEFT_ASSIGN_OR_RETURN(const auto services, Services::Start(world, options));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(world.gallery));
  service::Json out = {{"templates", gallery.size()},
                       {"threads", ThreadCount()},
                       {"instruction_set", ActiveInstructionSet()}};
  HEFT_RETURN_IF_ERROR(Latency(world, services.get(), options.probes, &out));
  HEFT_RETURN_IF_ERROR(Throughput(world, services.get(), options, &out));
  std::cout << out.dump(2) << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft::bench

int main(int argc, char** argv) {
  heft::bench::Options options;
  size_t* const numbers[] = {&options.templates, &options.probes, &options.connections,
                             &options.seconds};
  bool good = argc >= 2 && argc <= 6;
  for (int i = 2; good && i < argc; ++i) good = absl::SimpleAtoi(argv[i], numbers[i - 2]);
  if (!good) {
    std::cerr << "service_bench FOLDER [TEMPLATES] [PROBES] [CONNECTIONS] [SECONDS]\n";
    return 2;
  }
  options.folder = argv[1];
  const absl::Status status = heft::bench::Run(options);
  if (!status.ok()) std::cerr << "service_bench: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
