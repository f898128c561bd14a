// SPDX-License-Identifier: Apache-2.0
#include "tests/workplace.h"

#include <algorithm>

#include "base/files.h"
#include "features/readers.h"

namespace heft::e2e {

Workplace::Workplace() {
  for (const char* role : {"owner", "client", "server"}) {
    std::filesystem::create_directories((*this)(role));
  }
}

void Workplace::Copy(const std::string& from, const std::string& to) const {
  std::filesystem::copy(
      (*this)(from), (*this)(to),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
}

nlohmann::json Must(const char* program, Args args) {
  args.push_back("--json");
  args.push_back("--quiet");
  const Finished run = RunProgram(program, args);
  EXPECT_EQ(run.exit_code, 0) << args[0] << ": " << run.err;
  EXPECT_EQ(run.err, "");
  nlohmann::json json = nlohmann::json::parse(run.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(json.is_object()) << args[0] << " printed: " << run.out;
  return json;
}

bool ServersCommand(const Args& args) {
  return std::ranges::count(Args{"enrol", "pending", "apply", "identify", "verify", "reveal",
                                 "prepare-keys", "gallery"},
                            args[0]) > 0;
}

nlohmann::json EncryptBoth(Args args) {
  nlohmann::json made = Must(kHeft, args);
  std::string& out = *(std::ranges::find(args, "--out") + 1);
  out = ProbeOf(out);
  args.insert(args.end(), {"--for", "identification"});
  Must(kHeft, args);
  return made;
}

Args WithProbes(Args args) {
  if (args[0] != "identify") return args;
  for (size_t i = 1; i < args.size(); ++i) {
    if (args[i - 1] != "--in" || !std::filesystem::exists(ProbeOf(args[i]))) continue;
    args[i] = ProbeOf(args[i]);
  }
  return args;
}

Args WithRow(Args args) {
  if (args[0] != "identify" && args[0] != "verify") return args;
  for (const char* said : {"--row", "--all", "--average"}) {
    if (std::ranges::count(args, said) > 0) return args;
  }
  args.insert(args.end(), {"--row", "0"});
  return args;
}

void RaiseBudget(const std::string& model, const std::string& secret_key, Args more) {
  more.insert(more.begin(), {"budget", "--model", model, "--secret-key", secret_key, "--set",
                             "scores=1000000", "--set", "decisions=1000000", "--set",
                             "rejections=1000000", "--set", "client-bits=1000000000"});
  Must(kHeft, more);
}

Args TrainArgs(const std::string& data, const std::string& out, const Args& more) {
  Args args = {"train",   "--data", data,       "--out", out,
               "--gamma", "16",     "--epochs", "3",     "--no-exact"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

std::string ServerFolder(const std::string& gallery) {
  constexpr std::string_view kPostgres = "postgres:";
  if (!gallery.starts_with(kPostgres)) return gallery.substr(0, gallery.rfind(':'));
  const size_t name = kPostgres.size(), end = gallery.find(':', name);
  const char* const state = std::getenv("HEFT_STATE_DIR");
  return std::string(state == nullptr ? "" : state) + "/stores/postgres/" +
         gallery.substr(name, end == gallery.npos ? end : end - name);
}

void Believe(const std::string& trust, const std::string& gallery) {
  const std::string path = ServerFolder(gallery) + "/server.pub";
  const std::string key = Slurp(path).substr(0, 64);
  if (Slurp(trust).find(key) == std::string::npos) {
    Must(kHeft,
         {"trust", "add", "--trust", trust, "--role", "server", "--key", path, "--name", key});
  }
  const Finished info = RunProgram(kServer, {"gallery", "stats", "--json", "--gallery", gallery});
  if (info.exit_code != 0) return;  // no gallery, or a damaged one
  const std::string id = nlohmann::json::parse(info.out)["gallery_id"];
  if (Slurp(trust).find(id) != std::string::npos) return;
  Must(kHeft, {"trust", "add", "--trust", trust, "--gallery", id});
}

void Unpin(const std::string& trust) {
  nlohmann::json file = nlohmann::json::parse(Slurp(trust));
  file.erase("galleries");
  Spill(trust, file.dump());
}

nlohmann::json EnrolNow(const Args& enrol, const std::string& secret_key) {
  Must(kServer, enrol);
  return ActivatePending(enrol, secret_key);
}

nlohmann::json ActivatePending(const Args& enrol, const std::string& secret_key, const Args& owner,
                               size_t rejected) {
  Args of_gallery, enrolment_keys;
  std::string model, gallery;
  for (size_t i = 0; i + 1 < enrol.size(); ++i) {
    if (enrol[i] == "--model") model = enrol[i + 1];
    if (enrol[i] == "--gallery") gallery = enrol[i + 1];
    const bool wanted = enrol[i] == "--model" || enrol[i] == "--keys" || enrol[i] == "--gallery";
    Args* to = wanted ? &of_gallery : enrol[i] == "--enrolment-keys" ? &enrolment_keys : nullptr;
    if (to != nullptr) to->insert(to->end(), {enrol[i], enrol[i + 1]});
  }
  const std::string trust = std::filesystem::path(secret_key).parent_path() / "trust.heft";
  const std::string server = ServerFolder(gallery);
  const std::string pending = server + ".pending", admission = server + ".admission";
  auto run = [&](const char* program, Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    args.insert(args.end(), {"--trust", trust});
    return Must(program, args);
  };
  Args ask = {"pending", "--out", pending}, release = {"apply", "--in", admission};
  ask.insert(ask.end(), of_gallery.begin(), of_gallery.end());
  release.insert(release.end(), of_gallery.begin(), of_gallery.end());
  run(kServer, ask, {});
  Believe(trust, gallery);
  const Args activate = {"answer", "--model", model,   "--secret-key", secret_key,
                         "--in",   pending,   "--out", admission};
  const nlohmann::json activated = run(kHeft, activate, owner);
  EXPECT_EQ(activated["rejected"].size(), rejected) << activated;
  return run(kServer, release, enrolment_keys);
}

void WriteRows(const Dataset& data, const std::string& modality, const std::vector<int>& rows,
               const std::string& npy, const std::string& labels) {
  const Dataset selected = SelectRows(data, rows);
  for (const Modality& m : selected.modalities) {
    if (m.name == modality) {
      ASSERT_TRUE(WriteNpy(npy, m.features).ok());
    }
  }
  std::string text;
  for (const std::string& label : selected.labels) text += label + "\n";
  Spill(labels, text);
}

std::vector<std::vector<double>> UnitVectors(const Dataset& data, int row) {
  std::vector<std::vector<double>> vectors;
  for (const Modality& m : data.modalities) {
    const auto unit = m.features.row(row).normalized().eval();
    vectors.emplace_back(unit.data(), unit.data() + unit.size());
  }
  return vectors;
}

Model ReadModel(const std::string& path) {
  const auto bytes = ReadFile(path);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  auto model = Model::Parse(*bytes, path);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

}  // namespace heft::e2e
