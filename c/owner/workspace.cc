// SPDX-License-Identifier: Apache-2.0
#include "heft/workspace.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "c/handles.h"
#include "c/options.h"
#include "c/passphrase.h"
#include "c/result.h"
#include "c/samples.h"
#include "c/taker.h"
#include "heft/c/key_owner.h"

struct heft_workspace : heft::c::Handle<heft_workspace> {
  HEFT_C_HANDLE(heft_workspace, 'work');
  explicit heft_workspace(heft::Workspace w) : workspace(std::move(w)) {}
  heft::Workspace workspace;
  std::mutex mutex;                       // of calls that use it
  std::atomic<std::thread::id> holder{};  // of the mutex
};

namespace heft::c {
namespace {

// Turn: a call's turn to use the workspace. kFailedPrecondition within a callback of another call.
class Turn {
 public:
  static absl::StatusOr<Turn> Take(heft_workspace& workspace) {
    if (workspace.holder == std::this_thread::get_id()) {
      return absl::FailedPreconditionError(
          "a callback of a workspace's call cannot use that workspace: do it when the call is "
          "back");
    }
    Turn turn(workspace);
    workspace.holder = std::this_thread::get_id();
    return turn;
  }
  Turn(Turn&&) = default;
  ~Turn() {
    if (lock_) workspace_->holder = std::thread::id();
  }

 private:
  explicit Turn(heft_workspace& workspace) : workspace_(&workspace), lock_(workspace.mutex) {}
  heft_workspace* workspace_;
  std::unique_lock<std::mutex> lock_;
};

// ReadRule: a score, or the rate of this name; by default a rate.
absl::StatusOr<DecisionRule> ReadRule(const heft_options* options, const char* name,
                                      std::optional<double> DecisionRule::*rate, double usual) {
  DecisionRule rule;
  HEFT_RETURN_IF_ERROR(
      OptionReader(options).Number("score", &rule.score).Number(name, &(rule.*rate)).Finish());
  if (!rule.score && !(rule.*rate)) rule.*rate = usual;
  return rule;
}

}  // namespace
}  // namespace heft::c

using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;
using heft::c::SampleRows;
using heft::c::Taker;
using heft::c::Turn;

heft_status heft_workspace_check_free(const char* folder, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder"));
    return heft::Workspace::CheckFree(folder);
  });
}

heft_status heft_workspace_create(const char* folder, const heft_model* model,
                                  heft_bytes passphrase, heft_monitor monitor, void* user,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder", model, "model"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    return heft::Workspace::Create(folder, model->model, asked, AsMonitor(monitor, user));
  });
}

heft_status heft_workspace_export_role(const char* folder, const char* role, const char* out,
                                       heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder", role, "role", out, "out"));
    return heft::Workspace::ExportRole(folder, role, out);
  });
}

heft_status heft_workspace_open(const char* folder, heft_bytes passphrase,
                                heft_workspace** workspace, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder", workspace, "workspace"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    HEFT_ASSIGN_OR_RETURN(heft::Workspace opened, heft::Workspace::Open(folder, asked));
    *workspace = new heft_workspace(std::move(opened));
    return absl::OkStatus();
  });
}

void heft_workspace_free(heft_workspace* workspace) { heft::c::Free(workspace); }

heft_status heft_workspace_model(const heft_workspace* workspace, heft_model** model,
                                 heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(workspace, "workspace", model, "model"));
    *model = new heft_model(workspace->workspace.model());
    return absl::OkStatus();
  });
}

heft_status heft_workspace_describe(const heft_workspace* workspace, heft_result** result,
                                    heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(workspace, "workspace", result, "result"));
    *result = new heft_result(heft::Json({{"gallery", workspace->workspace.gallery()}}));
    return absl::OkStatus();
  });
}

heft_status heft_workspace_add(heft_workspace* workspace, const heft_rows* rows, size_t count,
                               const char* const* labels, heft_monitor monitor, void* user,
                               heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(workspace, "workspace", rows, "rows", result, "result"));
    SampleRows samples;
    HEFT_RETURN_IF_ERROR(samples.Read(workspace->workspace.model().modalities, rows, count, labels,
                                      nullptr, /*fused=*/false));
    HEFT_ASSIGN_OR_RETURN(const Turn turn, Turn::Take(*workspace));
    HEFT_ASSIGN_OR_RETURN(const auto added,
                          workspace->workspace.Add(samples.views(), AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::RecordJson(added));
    return absl::OkStatus();
  });
}

heft_status heft_workspace_search(heft_workspace* workspace, const heft_rows* rows, size_t count,
                                  const heft_options* options, heft_take_reply take,
                                  heft_monitor monitor, void* user, heft_error** error) {
  Taker taker = {take, user};
  const heft_status status = Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(workspace, "workspace", rows, "rows", take, "take"));
    SampleRows samples;
    HEFT_RETURN_IF_ERROR(samples.Read(workspace->workspace.model().modalities, rows, count, nullptr,
                                      nullptr, /*fused=*/false));
    HEFT_ASSIGN_OR_RETURN(
        const auto rule,
        heft::c::ReadRule(options, "fpir", &heft::DecisionRule::fpir, heft::kWorkspaceFpir));
    HEFT_ASSIGN_OR_RETURN(const Turn turn, Turn::Take(*workspace));
    return workspace->workspace.Search(samples.views(), rule, std::ref(taker),
                                       AsMonitor(monitor, user));
  });
  return taker.Outcome(status, error);
}

heft_status heft_workspace_verify(heft_workspace* workspace, const heft_rows* rows, size_t count,
                                  const char* identity, const heft_options* options,
                                  heft_take_reply take, heft_monitor monitor, void* user,
                                  heft_error** error) {
  Taker taker = {take, user};
  const heft_status status = Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(workspace, "workspace", rows, "rows", identity, "identity", take, "take"));
    SampleRows samples;
    HEFT_RETURN_IF_ERROR(samples.Read(workspace->workspace.model().modalities, rows, count, nullptr,
                                      nullptr, /*fused=*/false));
    HEFT_ASSIGN_OR_RETURN(
        const auto rule,
        heft::c::ReadRule(options, "fmr", &heft::DecisionRule::fmr, heft::kWorkspaceFmr));
    HEFT_ASSIGN_OR_RETURN(const Turn turn, Turn::Take(*workspace));
    return workspace->workspace.Verify(samples.views(), identity, rule, std::ref(taker),
                                       AsMonitor(monitor, user));
  });
  return taker.Outcome(status, error);
}

heft_status heft_workspace_remove(heft_workspace* workspace, const heft_options* options,
                                  heft_monitor monitor, void* user, heft_result** result,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(workspace, "workspace", result, "result"));
    std::vector<std::string> identities;
    HEFT_RETURN_IF_ERROR(heft::c::OptionReader(options).Texts("identities", &identities).Finish());
    HEFT_ASSIGN_OR_RETURN(const Turn turn, Turn::Take(*workspace));
    HEFT_ASSIGN_OR_RETURN(const auto removed,
                          workspace->workspace.Remove(identities, AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::WithReasons(removed));
    return absl::OkStatus();
  });
}
