// SPDX-License-Identifier: Apache-2.0
// init, add, search, verify, remove and export-role: all roles in the folders of a workspace.
#include "heft/workspace.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/commands.h"
#include "cli/training.h"
#include "heft/dataset.h"
#include "heft/inspect.h"
#include "heft/openings.h"
#include "program/common.h"
#include "program/owner/key_options.h"

namespace heft::cli {
namespace {

struct WorkspaceFlags {
  std::string workspace, passphrase_file;
  std::vector<std::string> files;
  std::vector<uint32_t> rows;  // of the files; all if empty
  std::string labels, label;
  std::vector<std::string> identities;
  DecisionRule rule;
};

absl::StatusOr<Workspace> OpenWorkspace(const WorkspaceFlags& options) {
  return Workspace::Open(options.workspace, [&] {
    return ReadPassphrase(options.passphrase_file, /*confirm=*/false);
  });
}

// FileOf: a file of vectors and its modality, from NAME=FILE or from the words of the file's name;
// empty if neither names one.
struct FileOf {
  std::string path, modality;
};

// Named: the modality among the words of a file's name, if there is exactly one.
std::string Named(const Model& model, const std::string& path) {
  std::string name = absl::AsciiStrToLower(path.substr(path.find_last_of('/') + 1));
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = ' ';
  }
  const std::vector<std::string> words = absl::StrSplit(name, ' ');
  std::vector<std::string> found;
  for (const ModalitySpec& modality : model.modalities) {
    const std::string lower = absl::AsciiStrToLower(modality.name);
    if (std::find(words.begin(), words.end(), lower) != words.end()) found.push_back(modality.name);
  }
  return found.size() == 1 ? found[0] : "";
}

FileOf ReadName(const Model& model, const std::string& given) {
  for (const ModalitySpec& modality : model.modalities) {
    const std::string prefix = modality.name + "=";
    if (given.rfind(prefix, 0) == 0) return {given.substr(prefix.size()), modality.name};
  }
  return {given, Named(model, given)};
}

std::string NamesOf(const Model& model) {
  return absl::StrJoin(model.modalities, ", ", [](std::string* out, const ModalitySpec& modality) {
    absl::StrAppend(out, modality.name, " (", modality.dimension, ")");
  });
}

// FilesOf: files by the modalities in their names; if no name has one, in the order of the model.
absl::StatusOr<std::vector<FileOf>> FilesOf(const Model& model,
                                            const std::vector<std::string>& given) {
  std::vector<FileOf> files;
  size_t unnamed = 0;
  for (const std::string& name : given) {
    files.push_back(ReadName(model, name));
    unnamed += files.back().modality.empty();
  }
  if (unnamed == files.size() && files.size() == model.modalities.size()) {
    for (size_t i = 0; i < files.size(); ++i) files[i].modality = model.modalities[i].name;
  } else if (unnamed > 0 || files.size() > model.modalities.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        files.size(), " files for the modalities ", NamesOf(model),
        ": give a file for each of them, or say which is which: ", model.modalities[0].name, "=",
        files[0].path));
  }
  return files;
}

// Rows: vectors of the files and labels, for a workspace. `numbers`: with --row, those of the rows
// in the files.
struct Rows {
  std::vector<FileOf> files;
  std::vector<FeatureRows> vectors;
  std::vector<std::string> labels;
  std::vector<Samples> samples;
  std::vector<uint32_t> numbers;

  size_t Number(size_t row) const { return numbers.empty() ? row : numbers.at(row); }
};

// AtFilesRow: an error that names a row, with the row's number in the files.
absl::Status AtFilesRow(const Rows& rows, const absl::Status& status) {
  absl::string_view text = status.message();
  size_t row = 0;
  const size_t colon = text.find(": ");
  if (status.ok() || colon == text.npos || !absl::ConsumePrefix(&text, "row ") ||
      !absl::SimpleAtoi(text.substr(0, colon - 4), &row) || row >= rows.numbers.size()) {
    return status;
  }
  return absl::Status(status.code(),
                      absl::StrCat("row ", rows.Number(row), status.message().substr(colon)));
}

// Select: the vectors of these rows.
absl::StatusOr<FeatureRows> Select(const std::string& path, FeatureRows all,
                                   const std::vector<uint32_t>& rows) {
  if (rows.empty()) return all;
  FeatureRows some = {.dimension = all.dimension, .values = {}};
  for (const uint32_t row : rows) {
    if (row >= all.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": row ", row, " asked for, the file has ", all.size()));
    }
    const std::span<const float> vector = all.row(row);
    some.values.insert(some.values.end(), vector.begin(), vector.end());
  }
  return some;
}

// SelectLabels: those of the rows, of a label for each row of the files.
absl::Status SelectLabels(const WorkspaceFlags& options, size_t in_file,
                          std::vector<std::string>* labels) {
  if (labels->size() != in_file) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.labels, ": ", labels->size(), " labels for ", in_file, " rows"));
  }
  std::vector<std::string> some;
  for (const uint32_t row : options.rows) some.push_back((*labels)[row]);
  *labels = std::move(some);
  return absl::OkStatus();
}

absl::StatusOr<Rows> ReadRows(const Model& model, const WorkspaceFlags& options) {
  Rows rows;
  rows.numbers = options.rows;
  size_t in_file = 0;
  HEFT_ASSIGN_OR_RETURN(rows.files, FilesOf(model, options.files));
  for (const FileOf& file : rows.files) {
    HEFT_ASSIGN_OR_RETURN(FeatureRows read, ReadVectors(file.path));
    HEFT_ASSIGN_OR_RETURN(const size_t index, model.FindModality(file.modality));
    if (read.dimension != model.modalities[index].dimension) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, ": vectors of dimension ", read.dimension,
                       ", the modalities of this workspace are ", NamesOf(model)));
    }
    in_file = read.size();
    HEFT_ASSIGN_OR_RETURN(read, Select(file.path, std::move(read), options.rows));
    rows.vectors.push_back(std::move(read));
  }
  if (!options.labels.empty()) {
    HEFT_ASSIGN_OR_RETURN(rows.labels, ReadLabels(options.labels));
    if (!options.rows.empty()) {
      HEFT_RETURN_IF_ERROR(SelectLabels(options, in_file, &rows.labels));
    }
  } else if (!options.label.empty()) {
    rows.labels.assign(rows.vectors[0].size(), options.label);
  }
  for (size_t i = 0; i < rows.files.size(); ++i) {
    rows.samples.push_back({.modality = rows.files[i].modality,
                            .values = rows.vectors[i].values,
                            .labels = rows.labels});
  }
  return rows;
}

// ---- init

struct InitOptions {
  std::string workspace, data, model;
  LearnOptions learn;
  SealOptions seal;
};

absl::StatusOr<Model> ModelFor(const Common& common, const InitOptions& options,
                               std::vector<std::string>* warnings) {
  if (!options.model.empty()) return LoadModel(options.model);
  HEFT_ASSIGN_OR_RETURN(const TrainingData data,
                        LoadTrainingData(common, options.data, options.learn));
  HEFT_ASSIGN_OR_RETURN(Model model, Learn(data, options.learn, common.monitor));
  HEFT_ASSIGN_OR_RETURN(Described told, DescribeTraining(model));
  *warnings = std::move(told.warnings);
  return model;
}

absl::Status RunInit(const Common& common, const InitOptions& options) {
  HEFT_RETURN_IF_ERROR(Workspace::CheckFree(options.workspace));
  Described told;
  HEFT_ASSIGN_OR_RETURN(const Model model, ModelFor(common, options, &told.warnings));
  HEFT_RETURN_IF_ERROR(
      Workspace::Create(options.workspace, model, NewPassphrase(options.seal), common.monitor));
  WarnOfUnsealed(common, options.seal);
  told.json = {{"workspace", options.workspace}, {"model_id", HexString(model.Id())}};
  for (const ModalitySpec& modality : model.modalities) {
    told.json["modalities"].push_back({{"name", modality.name}, {"dimension", modality.dimension}});
  }
  told.text = absl::StrCat("workspace ", options.workspace, " for ", NamesOf(model),
                           ": device/ encrypts, server/ matches, owner/ decides");
  Print(common, told);
  return absl::OkStatus();
}

// ---- add

absl::Status RunAdd(const Common& common, const WorkspaceFlags& options) {
  HEFT_ASSIGN_OR_RETURN(Workspace workspace, OpenWorkspace(options));
  HEFT_ASSIGN_OR_RETURN(const Rows rows, ReadRows(workspace.model(), options));
  const auto added = workspace.Add(rows.samples, common.monitor);
  if (!added.ok()) return AtFilesRow(rows, added.status());
  const WorkspaceAdded& done = *added;
  Described told{{{"added", done.added}, {"templates", done.templates}}};
  told.text = absl::StrCat("added ", done.added, " templates (");
  for (size_t i = 0; i < rows.files.size(); ++i) {
    absl::StrAppend(&told.text, i > 0 ? ", " : "", rows.files[i].modality, " from ",
                    rows.files[i].path);
  }
  absl::StrAppend(&told.text, "); the gallery holds ", done.templates);
  for (const Admissions::Group& group : done.rejected) {
    told.json["rejected"].push_back({{"cause", group.cause}, {"identities", group.identities}});
    told.warnings.push_back(absl::StrCat("not added: ", absl::StrJoin(group.identities, ", "), ": ",
                                         group.cause, group.remedy.empty() ? "" : ". ",
                                         group.remedy));
  }
  Print(common, told);
  return absl::OkStatus();
}

// ---- search and verify

// "FPIR 0.01, threshold 0.512".
std::string RateText(const DecisionRule& rule, const ChosenThreshold& at) {
  std::string rate;
  if (rule.fpir) rate = absl::StrFormat("FPIR %g, ", *rule.fpir);
  if (rule.fmr) rate = absl::StrFormat("FMR %g, ", *rule.fmr);
  return absl::StrFormat("%sthreshold %.3f", rate, at.score);
}

std::string DecisionText(size_t row, const DecisionRule& rule, const Decision& decision) {
  const std::string who = decision.accepted                           ? decision.identity
                          : decision.kind == ScoreKind::kVerification ? "not " + decision.claimed
                                                                      : "no match";
  return absl::StrCat("row ", row, ": ", who, decision.accepted ? " (accepted" : " (rejected",
                      decision.refusal.empty() ? "" : ": ", decision.refusal, ", ",
                      RateText(rule, decision.threshold), ")\n");
}

absl::Status Ask(const Common& common, const WorkspaceFlags& options, bool verify) {
  DecisionRule rule = options.rule;
  if (!rule.score && !rule.fpir && !rule.fmr) {
    (verify ? rule.fmr : rule.fpir) = verify ? kWorkspaceFmr : kWorkspaceFpir;
  }
  HEFT_ASSIGN_OR_RETURN(Workspace workspace, OpenWorkspace(options));
  HEFT_ASSIGN_OR_RETURN(const Rows rows, ReadRows(workspace.model(), options));
  Described told{{{"decisions", Json::array()}}};
  const auto take = [&](size_t row, const Decision& decision) {
    Described one = DescribeDecision(decision);
    Json json = {{"row", rows.Number(row)}};
    json.update(one.json);
    told.json["decisions"].push_back(std::move(json));
    told.text += DecisionText(rows.Number(row), rule, decision);
    if (told.warnings.empty()) told.warnings = std::move(one.warnings);
    return absl::OkStatus();
  };
  const absl::Status asked =
      verify ? workspace.Verify(rows.samples, options.identities[0], rule, take, common.monitor)
             : workspace.Search(rows.samples, rule, take, common.monitor);
  // Rows before an error were decided and charged: they are shown all the same.
  if (asked.ok() || !told.text.empty()) Print(common, told);
  return AtFilesRow(rows, asked);
}

absl::Status RunSearch(const Common& common, const WorkspaceFlags& options) {
  return Ask(common, options, /*verify=*/false);
}
absl::Status RunVerify(const Common& common, const WorkspaceFlags& options) {
  return Ask(common, options, /*verify=*/true);
}

// ---- remove

absl::Status RunRemove(const Common& common, const WorkspaceFlags& options) {
  HEFT_ASSIGN_OR_RETURN(Workspace workspace, OpenWorkspace(options));
  HEFT_ASSIGN_OR_RETURN(const WorkspaceRemoved done,
                        workspace.Remove(options.identities, common.monitor));
  if (!done.overwritten.ok()) {
    Warn(common, absl::StrCat("the erased data could not be overwritten yet: the next change tries "
                              "again: ",
                              std::string(done.overwritten.message())));
  }
  Print(common,
        {{"removed", done.removed},
         {"templates", done.templates},
         {"overwritten", done.overwritten.ok()}},
        absl::StrCat("removed and erased ", done.removed, " templates; the gallery holds ",
                     done.templates));
  return absl::OkStatus();
}

// ---- export-role

struct ExportOptions {
  std::string workspace, role, out;
};

absl::Status RunExport(const Common& common, const ExportOptions& options) {
  HEFT_RETURN_IF_ERROR(Workspace::ExportRole(options.workspace, options.role, options.out));
  Print(common, {{"role", options.role}, {"out", options.out}},
        absl::StrCat("the ", options.role, " has moved to ", options.out,
                     ": take the folder to its machine (docs/roles.md)"));
  return absl::OkStatus();
}

// ---- options

void AddWorkspace(Command command, std::string* workspace) {
  command.Add("workspace", workspace, "folder of the workspace").Required();
}

void AddPassphrase(Command command, std::string* file) {
  command.Add("--passphrase-file", file, "first line: passphrase of the secret key");
}

void AddFiles(Command command, WorkspaceFlags* options) {
  command
      .Add("files", &options->files,
           "vectors, a file for each modality (.npy, or rows of text); which is which, their names "
           "say (face.npy, probe-face.npy), or face=FILE")
      .Required();
  command.Add("--row", &options->rows, "only these rows of the files, from 0");
}

Command AddAsking(Command app, bool verify) {
  const auto [command, options] =
      AddCommand(app, verify ? "verify" : "search",
                 verify ? "hold vectors against a claimed identity of a workspace, and decide"
                        : "search a workspace for the people of vectors, and decide",
                 verify ? "heft verify people face.npy voice.npy --identity ann"
                        : "heft search people face.npy voice.npy --row 1",
                 verify ? RunVerify : RunSearch);
  AddWorkspace(command, &options->workspace);
  AddFiles(command, options.get());
  const Option threshold =
      command.Add("--threshold", &options->rule.score, "accept from this score on").Range(-2, 2);
  if (verify) {
    command.Add("--identity", &options->identities, "the claimed identity").Required();
    command
        .Add(
            "--fmr", &options->rule.fmr,
            absl::StrCat("accept at the threshold for this false match rate (", kWorkspaceFmr, ")"))
        .Range(0, 1)
        .Excludes(threshold);
  } else {
    command
        .Add("--fpir", &options->rule.fpir,
             absl::StrCat("accept at the threshold for this false positive identification rate (",
                          kWorkspaceFpir, ")"))
        .Range(0, 1)
        .Excludes(threshold);
  }
  AddPassphrase(command, &options->passphrase_file);
  return command;
}

}  // namespace

void AddInit(Command app) {
  const auto [command, options] = AddCommand(
      app, "init", "make a workspace: all roles on this machine, in folders of their own",
      "heft init people --data DIR", RunInit);
  options->learn.with_exact = false;
  AddWorkspace(command, &options->workspace);
  const Option data =
      command.Add("-d,--data", &options->data, "data folder to learn the fusion from");
  const Option model =
      command.Add("-m,--model", &options->model, "model file (heft train), instead of data");
  data.Excludes(model);
  command.RequireOneOf(data, model);
  AddMethod(command, &options->learn).Needs(data);
  AddSealOptions(command, "", &options->seal);
}

void AddAdd(Command app) {
  const auto [command, options] =
      AddCommand(app, "add", "add people to a workspace: encrypt, enrol and activate them",
                 "heft add people face.npy voice.npy --labels labels.txt", RunAdd);
  AddWorkspace(command, &options->workspace);
  AddFiles(command, options.get());
  const Option labels =
      command.Add("--labels", &options->labels, "identity of each row, one per line");
  const Option label = command.Add("--label", &options->label, "identity of all rows");
  labels.Excludes(label);
  command.RequireOneOf(labels, label);
  AddPassphrase(command, &options->passphrase_file);
}

void AddSearch(Command app) { AddAsking(app, /*verify=*/false); }
void AddWorkspaceVerify(Command app) { AddAsking(app, /*verify=*/true); }

void AddRemove(Command app) {
  const auto [command, options] =
      AddCommand(app, "remove", "remove people from a workspace and erase their templates",
                 "heft remove people --identity ann", RunRemove);
  AddWorkspace(command, &options->workspace);
  command.Add("--identity", &options->identities, "one or several identities").Required();
  AddPassphrase(command, &options->passphrase_file);
}

void AddExportRole(Command app) {
  const auto [command, options] =
      AddCommand(app, "export-role", "move a role out of a workspace, to a machine of its own",
                 "heft export-role people server --out server", RunExport);
  AddWorkspace(command, &options->workspace);
  command.Add("role", &options->role, "the role to move")
      .Choices({"device", "server", "owner"})
      .Required();
  command.Add("-o,--out", &options->out, "new folder, on the same file system").Required();
}

}  // namespace heft::cli
