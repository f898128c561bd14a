// SPDX-License-Identifier: Apache-2.0
// heft-decider, the key owner as a service: opens replies that matchers signed, and signs
// decisions.
//
//   heft-decider serve --config FILE [--check]
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/console/console.h"
#include "service/decider/routes.h"
#include "service/openapi/document.h"
#include "service/run/log.h"
#include "service/run/program.h"

namespace heft::service {
namespace {

absl::StatusOr<std::function<void()>> PrepareReload(const std::string& path,
                                                    DeciderService* service) {
  HEFT_ASSIGN_OR_RETURN(DeciderConfig config, ReadDeciderConfig(path));
  const CommonConfig common = config.common;
  HEFT_ASSIGN_OR_RETURN(auto state, LoadDeciderState(std::move(config), &service->passphrase));
  HEFT_ASSIGN_OR_RETURN(auto install, service->base->Prepare(common));
  return [service, state = std::move(state), install = std::move(install)] {
    install();
    service->set_state(state);
  };
}

absl::Status Serve(const ServeArguments& arguments, Signals* signals) {
  HEFT_ASSIGN_OR_RETURN(DeciderConfig config, ReadDeciderConfig(arguments.config));
  HEFT_RETURN_IF_ERROR(ProtectProcess(config.key.lock_memory));
  const CommonConfig common = config.common;
  const std::string folder = config.state_folder;
  SetLogLevel(common.log_level);
  DeciderService service;
  HEFT_ASSIGN_OR_RETURN(auto state, LoadDeciderState(std::move(config), &service.passphrase));
  service.set_state(std::move(state));
  if (arguments.check) {
    HEFT_RETURN_IF_ERROR(TlsContext::ForServer(common.tls).status());
    std::cout << arguments.config << ": good; " << service.state()->config.RuledGalleries()
              << " galleries\n";
    return service.Ready();
  }
  HEFT_RETURN_IF_ERROR(OpenStateFolder(folder, &service));
  HEFT_ASSIGN_OR_RETURN(const std::unique_ptr<DaemonBase> base, DaemonBase::Create(common));
  service.base = base.get();
  RegisterDeciderMetrics(&service);
  ServeOptions options;
  AddDeciderRoutes(&service, &options.router);
  AddContractRoute(&options.router);
  base->AddCommonRoutes(&options.router, [&service] { return service.Ready(); });
  Traffic traffic;
  options.watch = [&traffic](const Answered& a) { traffic.Observe(a, UnixTime()); };
  AddConsole(
      &options.router, "decider", [&service] { return DeciderFacts(&service); }, &traffic);
  options.reload = [&] { return PrepareReload(arguments.config, &service); };
  return ServeUntilStopped(signals, common, base.get(), std::move(options));
}

}  // namespace
}  // namespace heft::service

int main(int argc, char** argv) {
  return heft::service::RunDaemon(
      argc, argv,
      {"heft-decider",
       "The key owner's service: opens signed replies of matchers and signs decisions.",
       heft::service::Serve});
}
