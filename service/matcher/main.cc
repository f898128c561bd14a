// SPDX-License-Identifier: Apache-2.0
// heft-matcher: the service that holds encrypted templates and cannot decrypt.
//
//   heft-matcher serve --config FILE [--check]
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status.h"
#include "heft/base.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "postgres/use_postgres.h"
#include "service/console/console.h"
#include "service/http/token_signer.h"
#include "service/matcher/console_facts.h"
#include "service/matcher/forward.h"
#include "service/matcher/state.h"
#include "service/run/log.h"
#include "service/run/program.h"

namespace heft::service {
namespace {

absl::StatusOr<std::shared_ptr<HttpDecider>> ConnectDecider(const MatcherConfig& config) {
  if (config.decider_url.empty()) return std::shared_ptr<HttpDecider>();
  HEFT_ASSIGN_OR_RETURN(auto tls, TlsContext::ForClient(config.decider_tls));
  HEFT_ASSIGN_OR_RETURN(auto client, HttpClient::Create(config.decider_url, tls));
  ForwardOptions options;
  options.exchange = config.exchange.patience;
  return std::make_shared<HttpDecider>(std::move(client), options, std::move(tls));
}

absl::StatusOr<std::shared_ptr<Callbacks>> ConnectCallbacks(const MatcherConfig& config) {
  if (config.callbacks.empty()) return std::shared_ptr<Callbacks>();
  HEFT_ASSIGN_OR_RETURN(auto tls, TlsContext::ForClient(config.common.tls));
  return Callbacks::Create(config.callbacks, std::move(tls));
}

// CheckNames: a gallery of the store and one in buckets have different names.
absl::Status CheckNames(const MatcherConfig& config, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::count(config.sharded, name) == 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(config.store, ": has a gallery \"", name,
                     "\", which [shards] galleries names too: rename one of them"));
  }
  return absl::OkStatus();
}

// Makes the configured galleries that are missing, with their server's keys.
absl::Status Prepare(MatcherState* state) {
  for (const std::string& name : state->config.galleries) {
    const auto made = state->galleries.Create(*state->engine.Get(), name, state->config.retained);
    if (!absl::IsAlreadyExists(made.status())) HEFT_RETURN_IF_ERROR(made.status());
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, state->galleries.Names());
  HEFT_RETURN_IF_ERROR(CheckNames(state->config, names));
  if (names.empty()) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(names.front()));
  return EquipGallery(address).status();
}

// KeyFileOf: the file of the signing key, used unless a token signs.
std::string KeyFileOf(const std::string& store) {
  const std::string state = StateFile(store);
  return state.substr(0, state.rfind('/') + 1) + "server.key";
}

// Checks that all configured files can be read. Changes nothing.
absl::Status Check(const MatcherConfig& config) {
  HEFT_ASSIGN_OR_RETURN(const auto engine, LoadEngine(config.files));
  HEFT_RETURN_IF_ERROR(TlsContext::ForServer(config.common.tls).status());
  HEFT_RETURN_IF_ERROR(ConnectDecider(config).status());
  HEFT_RETURN_IF_ERROR(ConnectCallbacks(config).status());
  if (!config.signing_key.empty()) {
    HEFT_RETURN_IF_ERROR(TokenSigner::Open(config.signing_key).status());
    if (const std::string file = KeyFileOf(config.store); FileExists(file)) {
      return absl::FailedPreconditionError(
          absl::StrCat(file,
                       ": still exists although [store] signing_key is set: heft trust revoke its "
                       "server.pub, then remove it"));
    }
  }
  const Galleries galleries(config.store);
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, galleries.Names());
  HEFT_RETURN_IF_ERROR(CheckNames(config, names));
  for (const std::string& name : names) {
    HEFT_ASSIGN_OR_RETURN(const std::string address, galleries.Address(name));
    HEFT_RETURN_IF_ERROR(DescribeGallery(address, &engine->model).status());
  }
  std::cout << "good; " << names.size() << " galleries\n";
  return absl::OkStatus();
}

absl::Status Serve(const ServeArguments& arguments, Signals* signals) {
  HEFT_ASSIGN_OR_RETURN(const MatcherConfig config, ReadMatcherConfig(arguments.config));
  SetLogLevel(config.common.log_level);
  setenv("HEFT_STATE_DIR", config.state.c_str(), /*replace=*/0);
  UsePostgres(config.cache_bytes);
  SetWriterWait(config.writer_wait);
  SetThreadCount(config.threads);
  if (arguments.check) return Check(config);
  HEFT_ASSIGN_OR_RETURN(const auto engine, Uploads(config.files, config.staging).Load());
  HEFT_ASSIGN_OR_RETURN(const std::unique_ptr<DaemonBase> base, DaemonBase::Create(config.common));
  HEFT_ASSIGN_OR_RETURN(const auto decider, ConnectDecider(config));
  HEFT_ASSIGN_OR_RETURN(const auto callbacks, ConnectCallbacks(config));
  MatcherState state(config, engine, decider, callbacks, &base->audit_log(), &base->metrics());
  HEFT_RETURN_IF_ERROR(state.galleries.UseToken(config.signing_key));
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
      HEFT_ASSIGN_OR_RETURN(link, decider->PrepareReload(anew.decider_tls));
    }
    HEFT_ASSIGN_OR_RETURN(auto galleries, state.galleries.PrepareReload());
    // Last: uploads wait from here until the new engine is in use.
    HEFT_ASSIGN_OR_RETURN(auto engine_of_now, state.uploads.PrepareReload(anew.files, state.Use()));
    return [engine_of_now = std::move(engine_of_now), common = std::move(common),
            link = std::move(link), galleries = std::move(galleries)] {
      common();
      link();
      engine_of_now();
      galleries();
    };
  };
  options.stop = [&state] { state.Stop(); };
  return ServeUntilStopped(signals, config.common, base.get(), std::move(options));
}

}  // namespace
}  // namespace heft::service

int main(int argc, char** argv) {
  return heft::service::RunDaemon(
      argc, argv,
      {"heft-matcher",
       "The service that holds encrypted templates and matches them; it cannot decrypt.",
       heft::service::Serve});
}
