// SPDX-License-Identifier: Apache-2.0
// heft-matcher: the service that holds encrypted templates and cannot decrypt.
//
//   heft-matcher serve --config FILE [--check]
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/audit.h"
#include "heft/runtime.h"
#include "service/console/console.h"
#include "service/matcher/console_facts.h"
#include "service/matcher/forward.h"
#include "service/matcher/state.h"
#include "service/run/log.h"
#include "service/run/notify.h"

namespace heft::service {
namespace {

constexpr char kUsage[] =
    "heft-matcher serve --config FILE [--check]\n\n"
    "The service that holds encrypted templates and matches them; it cannot decrypt.\n"
    "  --config FILE   its configuration (docs/operations.md)\n"
    "  --check         read everything that it names, say what is wrong, and end\n";

constexpr int kExitUsage = 2, kExitConfig = 3, kExitSystem = 4;

struct Arguments {
  std::string config;
  bool check = false;
};

std::optional<Arguments> ReadArguments(int argc, char** argv) {
  Arguments out;
  if (argc < 2 || std::string(argv[1]) != "serve") return std::nullopt;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--check") {
      out.check = true;
    } else if (argument == "--config" && i + 1 < argc && out.config.empty()) {
      out.config = argv[++i];
    } else {
      return std::nullopt;
    }
  }
  if (out.config.empty()) return std::nullopt;
  return out;
}

absl::StatusOr<std::shared_ptr<HttpDecider>> ConnectDecider(const MatcherConfig& config) {
  if (config.decider_url.empty()) return std::shared_ptr<HttpDecider>();
  HEFT_ASSIGN_OR_RETURN(auto tls, TlsContext::ForClient(config.decider_tls));
  HEFT_ASSIGN_OR_RETURN(auto client, HttpClient::Create(config.decider_url, tls));
  ForwardOptions options;
  options.errand = config.exchange.patience;
  return std::make_shared<HttpDecider>(std::move(client), options, std::move(tls));
}

absl::StatusOr<std::shared_ptr<Callbacks>> ConnectCallbacks(const MatcherConfig& config) {
  if (config.callbacks.empty()) return std::shared_ptr<Callbacks>();
  HEFT_ASSIGN_OR_RETURN(auto tls, TlsContext::ForClient(config.common.tls));
  return Callbacks::Create(config.callbacks, std::move(tls));
}

// Galleries of the configuration that are not there, and what a store's server needs.
absl::Status Prepare(MatcherState* state) {
  for (const std::string& name : state->config.galleries) {
    const auto made =
        state->galleries.Create(state->engine.Get()->server, name, state->config.retained);
    if (!absl::IsAlreadyExists(made.status())) HEFT_RETURN_IF_ERROR(made.status());
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, state->galleries.Names());
  if (names.empty()) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(state->galleries.Signer().status());
  HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(names.front()));
  return MakeAuditKey(address);
}

// Everything that the configuration names can be read. Changes nothing.
absl::Status Check(const MatcherConfig& config) {
  HEFT_ASSIGN_OR_RETURN(const auto engine, LoadEngine(config.files));
  HEFT_RETURN_IF_ERROR(TlsContext::ForServer(config.common.tls).status());
  HEFT_RETURN_IF_ERROR(ConnectDecider(config).status());
  HEFT_RETURN_IF_ERROR(ConnectCallbacks(config).status());
  const Galleries galleries(config.store);
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, galleries.Names());
  for (const std::string& name : names) {
    HEFT_ASSIGN_OR_RETURN(const std::string address, galleries.Address(name));
    HEFT_RETURN_IF_ERROR(DescribeGallery(address, &engine->model).status());
  }
  std::cout << "good; " << names.size() << " galleries\n";
  return absl::OkStatus();
}

absl::Status Serve(const Arguments& arguments, Signals* signals) {
  HEFT_ASSIGN_OR_RETURN(const MatcherConfig config, ReadMatcherConfig(arguments.config));
  SetLogLevel(config.common.log_level);
  setenv("HEFT_STATE_DIR", config.state.c_str(), /*replace=*/0);
  SetWriterWait(config.writer_wait);
  SetThreadCount(config.threads);
  if (arguments.check) return Check(config);
  HEFT_ASSIGN_OR_RETURN(const auto engine, Uploads(config.files, config.staging).Load());
  HEFT_ASSIGN_OR_RETURN(const std::unique_ptr<DaemonBase> base, DaemonBase::Create(config.common));
  HEFT_ASSIGN_OR_RETURN(const auto decider, ConnectDecider(config));
  HEFT_ASSIGN_OR_RETURN(const auto callbacks, ConnectCallbacks(config));
  MatcherState state(config, engine, decider, callbacks, &base->audit_log(), &base->metrics());
  HEFT_RETURN_IF_ERROR(Prepare(&state));
  DescribeGalleriesIn(&state);
  Traffic traffic;
  ServeOptions options;
  AddMatcherRoutes(&state, &options.router);
  base->AddCommonRoutes(&options.router, [&state] { return state.Ready(); });
  options.watch = [&traffic](const Answered& answered) { traffic.Observe(answered, UnixTime()); };
  AddConsole(
      &options.router, "matcher",
      [&state, &decider] { return MatcherFacts(&state, decider != nullptr && decider->away()); },
      &traffic);
  options.reload = [&]() -> absl::StatusOr<std::function<void()>> {
    HEFT_ASSIGN_OR_RETURN(const MatcherConfig anew, ReadMatcherConfig(arguments.config));
    HEFT_ASSIGN_OR_RETURN(auto common, base->Prepare(anew.common));
    std::function<void()> link = [] {};
    if (decider != nullptr) {
      HEFT_ASSIGN_OR_RETURN(link, decider->PrepareReload());
    }
    // Last: uploads wait from here until the new engine is in use.
    HEFT_ASSIGN_OR_RETURN(auto engine_of_now, state.uploads.PrepareReload(anew.files, state.Use()));
    return [&state, engine_of_now = std::move(engine_of_now), common = std::move(common),
            link = std::move(link)] {
      common();
      link();
      engine_of_now();
      state.galleries.Forget();
    };
  };
  options.stop = [&state] { state.Stop(); };
  return ServeUntilStopped(signals, config.common, base.get(), std::move(options));
}

int Main(int argc, char** argv) {
  const auto arguments = ReadArguments(argc, argv);
  if (!arguments) {
    const bool help = argc > 1 && std::string(argv[1]) == "--help";
    (help ? std::cout : std::cerr) << kUsage;
    return help ? 0 : kExitUsage;
  }
  Signals signals;  // before any thread
  const absl::Status status = Serve(*arguments, &signals);
  if (status.ok()) return 0;
  std::cerr << "heft-matcher: " << status.message() << "\n";
  return absl::IsUnavailable(status) ? kExitSystem : kExitConfig;
}

}  // namespace
}  // namespace heft::service

int main(int argc, char** argv) { return heft::service::Main(argc, argv); }
