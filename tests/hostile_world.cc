// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile_world.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "features/readers.h"
#include "heft/files.h"
#include "heft/trust.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

void Write(const std::string& path, const Bytes& bytes) {
  const absl::Status status = WriteFile(path, bytes);
  if (!status.ok()) Die(std::string(status.message()));
}

void Append(Args* args, const Args& more) { args->insert(args->end(), more.begin(), more.end()); }

nlohmann::json ParseJson(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) Die("no JSON: " + text);
  return json;
}

}  // namespace

void Die(const std::string& what) {
  std::cerr << "hostile_suite: " << what << "\n";
  std::exit(2);
}

World::World() {
  // The key owner's state folder belongs to this run alone.
  setenv("HEFT_STATE_DIR", (*this)("state").c_str(), 1);
  MakePeople();
  MakeKeys();
  Enrol();
}

std::string World::Run(const char* program, const Args& args) const {
  Args all = args;
  Append(&all, {"--json", "--quiet"});
  const Finished run = RunProgram(program, all);
  if (run.exit_code != 0)
    Die(args[0] + " ended with " + std::to_string(run.exit_code) + ": " + run.err);
  return run.out;
}

std::string World::New(const std::string& name) {
  return (*this)("files/" + std::to_string(files_++) + "-" + name);
}

// Enrolled people and strangers are of the test split: the model was trained on other people, and
// its thresholds were fitted to others again.
void World::MakePeople() {
  Run(kHeft, {"synth", "--out", data_folder(), "--jitter", "1", "--identities", "400", "--samples",
              "4", "--dimensions", "96", "64"});
  Train("model.heft");
  model_ = Ok(LoadModel((*this)("model.heft")));
  const Dataset data = Ok(LoadDataset(data_folder()));
  own_.resize(data.modalities.size());
  strangers_.resize(data.modalities.size());
  std::string last;  // of the enrolled people
  for (size_t row = 0; row < data.labels.size(); ++row) {
    const std::string& label = data.labels[row];
    if (data.split[row] != Split::kTest || label == last) continue;
    const bool enrol = enrolled_.size() < kEnrolled;
    if (enrol) {
      last = label;
      enrolled_.push_back("person-" + std::to_string(100 + enrolled_.size()));
    }
    for (size_t m = 0; m < data.modalities.size(); ++m) {
      const auto vector = data.modalities[m].features.row(static_cast<Eigen::Index>(row));
      (enrol ? own_ : strangers_)[m].emplace_back(vector.begin(), vector.end());
    }
  }
}

void World::Train(const std::string& out, const Args& more) const {
  Args args = {"train",    "--data", data_folder(), "--out", (*this)(out),
               "--epochs", "20",     "--gamma",     "32",    "--no-exact"};
  Append(&args, more);
  Run(kHeft, args);
}

std::string World::Harden(Model* hardened) const {
  const std::string name = "hardened.heft";
  Train(name, {"--against-wolves"});
  *hardened = Ok(LoadModel((*this)(name)));
  if (hardened->Id() != model_.Id()) Die("--against-wolves has changed the projection");
  return name;
}

void World::MakeKeys() {
  for (const char* keys : {"keys", "other-keys"}) {
    Run(kHeft, {"keygen", "--model", (*this)("model.heft"), "--out", (*this)(keys)});
  }
  Run(kHeft, {"trust", "new-key", "--out", (*this)("client.key")});
  Run(kHeft, {"trust", "add", "--trust", (*this)("keys/trust.heft"), "--role", "client", "--key",
              (*this)("client.pub")});
  Run(kHeft, {"budget", "--model", (*this)("model.heft"), "--secret-key",
              (*this)("keys/secret.key"), "--set", "scores=1000000", "--set", "decisions=1000000",
              "--set", "rejections=1000000", "--set", "client-bits=1000000000"});
  std::filesystem::create_directory((*this)("files"));
}

// Enrols in three steps: a client brings, the key owner approves, the server releases.
void World::Enrol() {
  std::string labels;
  for (const std::string& name : enrolled_) labels += name + "\n";
  Spill((*this)("labels.txt"), labels);
  const Finished brought =
      Bring(Encrypt(own_, SampleUse::kEnrolment, "keys", {"--labels", (*this)("labels.txt")}));
  if (brought.exit_code != 0) Die("nobody is enrolled: " + brought.err);
  Run(kHeft, {"trust", "add", "--trust", (*this)("keys/trust.heft"), "--role", "server", "--key",
              (*this)("gallery/server.pub")});
  const auto [activated, released] = Activate();
  if (released["templates"] != kEnrolled) Die("not everybody was activated: " + activated.dump());
}

Finished World::Bring(const std::vector<Bytes>& files, const Args& more) {
  Args args = ServerArgs("enrol", Send(files));
  Append(&args, {"--json", "--quiet"});
  Append(&args, more);
  return RunProgram(kServer, args);
}

nlohmann::json World::Pending() const {
  Args pending = ServerArgs("pending", {});
  Append(&pending, {"--out", (*this)("pending.ct")});
  return ParseJson(Run(kServer, pending));
}

std::pair<nlohmann::json, nlohmann::json> World::Activate(const Args& more) const {
  Pending();
  Args activate = {"answer",
                   "--model",
                   (*this)("model.heft"),
                   "--secret-key",
                   (*this)("keys/secret.key"),
                   "--in",
                   (*this)("pending.ct"),
                   "--out",
                   (*this)("admission.heft")};
  Append(&activate, more);
  const std::string activated = Run(kHeft, activate);
  Args release = ServerArgs("apply", {});
  Append(&release, {"--in", (*this)("admission.heft")});
  return {ParseJson(activated), ParseJson(Run(kServer, release))};
}

std::vector<Bytes> World::Encrypt(const std::vector<Vectors>& modalities, SampleUse use,
                                  const std::string& keys, const Args& more) const {
  std::vector<Bytes> files;
  for (size_t m = 0; m < modalities.size(); ++m) {
    const Vectors& rows = modalities[m];
    FeatureMatrix matrix(static_cast<Eigen::Index>(rows.size()),
                         static_cast<Eigen::Index>(rows[0].size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = 0; j < rows[i].size(); ++j) {
        matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = rows[i][j];
      }
    }
    const std::string npy = (*this)("vectors.npy"), out = (*this)("vectors.ct");
    if (!WriteNpy(npy, matrix).ok()) Die("cannot write " + npy);
    Args args = {"encrypt",
                 "--model",
                 (*this)("model.heft"),
                 "--key",
                 (*this)(keys + "/encryption.key"),
                 "--modality",
                 model_.modalities[m].name,
                 "--in",
                 npy,
                 "--for",
                 use == SampleUse::kEnrolment ? "enrolment" : "identification",
                 "--out",
                 out};
    Append(&args, more);
    Run(kHeft, args);
    files.push_back(Ok(ReadFile(out)));
  }
  return files;
}

std::vector<std::string> World::Send(const std::vector<Bytes>& files) {
  static const SigningKey key = Ok(SigningKey::Load((*this)("client.key")));
  std::vector<std::string> paths;
  for (const Bytes& file : files) {
    Statement statement;
    statement.role = Role::kClient;
    statement.issued = UnixTime();
    statement.expires = statement.issued + 3600;
    paths.push_back(New("request.ct"));
    Write(paths.back(), Ok(key.Sign(statement, file)));
  }
  return paths;
}

Args World::ServerArgs(const std::string& subcommand,
                       const std::vector<std::string>& request) const {
  Args args = {subcommand,
               "--model",
               (*this)("model.heft"),
               "--keys",
               (*this)("keys/evaluation.keys"),
               "--gallery",
               (*this)("gallery")};
  for (const std::string& file : request) Append(&args, {"--in", file});
  return args;
}

bool World::Serve(const Args& args, std::string* why) const {
  const Finished run = RunProgram(kServer, args);
  if (run.exit_code != 0 && run.exit_code != kInput) {
    Die(args[0] + " ended with " + std::to_string(run.exit_code) + ": " + run.err);
  }
  *why = run.exit_code == 0 ? "" : run.err;
  return run.exit_code == 0;
}

std::vector<std::string> World::Ask(const std::vector<std::string>& request,
                                    const std::string& claimed, std::string* why) {
  const bool verify = !claimed.empty();
  Args args = ServerArgs(verify ? "verify" : "identify", request);
  const std::string out = New("replies");
  Append(&args, {"--all", "--out", out, "--quiet"});
  if (verify) Append(&args, {"--identity", claimed});
  std::vector<std::string> replies;
  if (!Serve(args, why)) return replies;
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    replies.push_back(entry.path().string());
  }
  std::ranges::sort(replies);
  return replies;
}

std::string World::Keep(const std::string& path) {
  const std::string kept = (*this)("kept-" + std::to_string(files_++));
  std::filesystem::rename(path, kept);
  return kept;
}

void World::Clear() const {
  for (const auto& entry : std::filesystem::directory_iterator((*this)("files"))) {
    std::filesystem::remove_all(entry.path());
  }
}

Fate World::Decide(const std::string& reply, bool verify, const std::string& rate,
                   const std::string& model) const {
  const Finished run = RunProgram(
      kHeft, {"decrypt", "--model", (*this)(model), "--secret-key", (*this)("keys/secret.key"),
              "--in", reply, verify ? "--fmr" : "--fpir", rate, "--json"});
  if (run.exit_code == kInput) return {Outcome::kRefused, run.err};
  if (run.exit_code != 0)
    Die("decrypt ended with " + std::to_string(run.exit_code) + ": " + run.err);
  const auto json = ParseJson(run.out);
  if (json["accepted"] == true) return {Outcome::kAccepted, ""};
  if (json["refusal"] != "") return {Outcome::kRefused, json["refusal"]};
  return {Outcome::kRejected, ""};
}

}  // namespace heft::e2e
