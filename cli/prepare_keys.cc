// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/inspect.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

// Prepared: the change to the expanded form of one file of keys.
struct Prepared {
  Json json;
  std::string text;
};

absl::StatusOr<Prepared> Prepare(const Model& model, LoadedKeys* keys) {
  const bool made = !keys->expanded;
  if (made) HEFT_RETURN_IF_ERROR(keys->Expand(model));
  const size_t bytes = keys->expanded->bytes();
  Prepared out;
  out.json = {{"keys", keys->path}, {"out", keys->expanded_path}, {"bytes", bytes}, {"made", made}};
  out.text = absl::StrCat(keys->expanded_path, ": ", HumanBytes(static_cast<double>(bytes)),
                          made ? "\n" : ", already up to date\n");
  return out;
}

absl::Status RunPrepare(const Common& common, const ServerOptions& options) {
  HEFT_ASSIGN_OR_RETURN(ServerKeys loaded, LoadServerKeys(options, /*enrols=*/true));
  HEFT_RETURN_IF_ERROR(loaded.Check().status());
  if (!options.key_cache.empty()) HEFT_RETURN_IF_ERROR(MakeDirectories(options.key_cache));
  Json list = Json::array();
  std::string text;
  for (LoadedKeys* keys : {&loaded.evaluation, &loaded.enrolment}) {
    if (!keys->found()) continue;
    HEFT_ASSIGN_OR_RETURN(Prepared done, Prepare(loaded.model, keys));
    list.push_back(std::move(done.json));
    text += done.text;
  }
  Print(common, {{"prepared", list}}, text);
  return absl::OkStatus();
}

}  // namespace

void AddPrepareKeys(Command app) {
  const auto [command, options] = AddCommand(
      app, "prepare-keys",
      "expand keys once, so that later commands map them instead of expanding them (server)",
      "heft-server prepare-keys --model m.heft --keys evaluation.keys", RunPrepare);
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("-k,--keys", &options->keys, "evaluation keys").Required();
  AddEnrolmentKeys(command, options.get());
  AddKeyCache(command, options.get());
  AddTrustOptions(command, &options->trust, "the evaluation keys");
}

}  // namespace heft::cli
