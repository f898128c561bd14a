// SPDX-License-Identifier: Apache-2.0
#include "bench/thin.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "bench/bulk.h"
#include "experiment/random_model.h"
#include "experiment/stopwatch.h"
#include "fusion/norm_proof.h"
#include "fusion/samples.h"
#include "heft/client.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "heft/trust.h"
#include "owner/activate_all.h"

extern char** environ;

namespace heft::bench {
namespace {

using ckks::Ciphertext;
using experiment::Pointers;
using experiment::Roles;
using experiment::Timings;

// A folder that is gone with the object.
class Folder {
 public:
  static absl::StatusOr<Folder> Create() {
    std::string path = (std::filesystem::temp_directory_path() / "heft-bench-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return absl::UnavailableError(absl::StrCat("cannot make a folder like ", path));
    }
    return Folder(std::move(path));
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// heft-server beside this program, otherwise that of $PATH.
std::string ServerProgram() {
  std::error_code unknown;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::filesystem::path beside = own.parent_path() / "heft-server";
  return !unknown && std::filesystem::exists(beside, unknown) ? beside.string() : "heft-server";
}

// Runs heft-server with `args`, its stdout to nowhere; its CPU time in milliseconds.
absl::StatusOr<double> CpuOfChild(std::vector<std::string> args) {
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const std::string program = ServerProgram();
  const int failed = posix_spawnp(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return absl::UnavailableError("cannot start heft-server: install it beside heft");
  int status = 0;
  rusage usage;
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) return absl::UnavailableError("cannot wait for a process");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return absl::InternalError("a process that should identify has failed");
  }
  auto ms = [](const timeval& t) { return 1e3 * t.tv_sec + 1e-3 * t.tv_usec; };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

// Random vectors of one modality, row by row.
std::vector<float> RandomRows(uint32_t dimension, size_t rows, std::mt19937_64& random) {
  std::vector<float> values;
  for (size_t i = 0; i < rows; ++i) {
    for (double v : experiment::RandomUnit(dimension, random)) {
      values.push_back(static_cast<float>(v));
    }
  }
  return values;
}

using Args = std::vector<std::string>;

// The arguments of a process of its own.
struct ColdRuns {
  Args identify, verify;
};

// Keys, a gallery and a probe in `folder`; the arguments of an identification and of a verification
// with them.
absl::StatusOr<ColdRuns> PrepareCold(const BenchmarkOptions& options, uint32_t gamma,
                                     const Progress& progress, const Folder& folder) {
  const Model model =
      experiment::RandomModel(options.dimensions, gamma, options.degree, options.profile);
  HEFT_RETURN_IF_ERROR(Step(progress, "making keys for a process of its own"));
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, KeyOwner::Generate(model));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> keys, owner.EvaluationKeys());
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> enrolment, owner.EnrolmentKeys());
  HEFT_ASSIGN_OR_RETURN(const Server server,
                        Server::Create(model, keys, "keys", enrolment, "enrolment keys"));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder / "model", model.Serialize()));
  // Signed, as the process demands.
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, owner.Signer());
  Trust trust;
  HEFT_RETURN_IF_ERROR(trust.Add(Role::kKeyOwner, "owner", signer.public_key()));
  HEFT_RETURN_IF_ERROR(trust.Save(folder / "trust.heft"));
  HEFT_ASSIGN_OR_RETURN(const auto signed_keys, signer.Sign({.role = Role::kKeyOwner}, keys));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder / "keys", signed_keys));
  HEFT_ASSIGN_OR_RETURN(const auto signed_enrolment,
                        signer.Sign({.role = Role::kKeyOwner}, enrolment));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder / "enrolment.keys", signed_enrolment));
  const auto begin = [&](const std::string& verb) {
    return Args{"heft-server",
                verb,
                "--quiet",
                "--threads",
                "1",
                "--model",
                folder / "model",
                "--keys",
                folder / "keys",
                "--gallery",
                folder / "gallery",
                "--out",
                folder / verb + ".reply"};
  };
  ColdRuns runs{begin("identify"), begin("verify")};
  for (const char* arg : {"--identity", "person 0", "--enrolment-keys"}) runs.verify.push_back(arg);
  runs.verify.push_back(folder / "enrolment.keys");
  std::mt19937_64 random(5);
  std::vector<std::string> labels;
  for (uint32_t i = 0; i < options.templates; ++i) labels.push_back(absl::StrCat("person ", i));
  // Bulk samples of such long vectors have no room to flood the proofs of their norms
  // (owner/flooded_test.cc). Flooded samples are therefore encrypted one by one.
  const SampleEncoding encoding =
      model.profile == "flooded" ? SampleEncoding::kCompact : SampleEncoding::kBulk;
  std::vector<SampleFile> enrolled;
  for (const ModalitySpec& modality : model.modalities) {
    HEFT_RETURN_IF_ERROR(Step(progress, "encrypting a gallery"));
    const auto rows = RandomRows(modality.dimension, options.templates, random);
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> samples,
                          owner.Encrypt({modality.name, rows, labels, encoding}));
    enrolled.push_back({std::move(samples), modality.name});
    const auto probe = RandomRows(modality.dimension, 1, random);
    const auto encrypt = [&](SampleUse use, const std::string& name, Args& args) -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(
          const std::vector<uint8_t> sample,
          owner.Encrypt({modality.name, probe, {}, SampleEncoding::kCompact, use}));
      args.push_back("--in");
      args.push_back(folder / name);
      return WriteFileAtomic(args.back(), sample);
    };
    HEFT_RETURN_IF_ERROR(encrypt(SampleUse::kIdentification, modality.name, runs.identify));
    HEFT_RETURN_IF_ERROR(encrypt(SampleUse::kEnrolment, modality.name + ".claim", runs.verify));
  }
  HEFT_RETURN_IF_ERROR(Step(progress, "enrolling a gallery"));
  HEFT_RETURN_IF_ERROR(
      testing::EnrolNow(server, owner, folder / "gallery", std::move(enrolled)).status());
  return runs;
}

}  // namespace

absl::Status RunClientFused(const BenchmarkOptions& options, const Progress& progress,
                            const Roles& roles, Json* result) {
  std::mt19937_64 random(9);
  const experiment::Vectors sample = experiment::RandomSample(roles.model(), random);
  HEFT_ASSIGN_OR_RETURN(const auto encrypted, roles.EncryptProbe(sample));
  std::vector<std::vector<std::vector<double>>> rows;
  for (const std::vector<double>& vector : sample) rows.push_back({vector});
  HEFT_ASSIGN_OR_RETURN(const auto fused, FuseRows(roles.model(), rows));
  const SampleForm form{SampleEncoding::kFused, SampleUse::kIdentification};
  HEFT_ASSIGN_OR_RETURN(const SampleEncoder encoder,
                        SampleEncoder::Create(roles.instance(), roles.model(), 0, fused, {}, form));
  HEFT_ASSIGN_OR_RETURN(const ckks::Plaintext plain, encoder.Encode(0));
  const Ciphertext one = roles.Encrypt(plain);
  const Ciphertext* const pointer[] = {&one};
  HEFT_ASSIGN_OR_RETURN(const auto gallery,
                        RandomGallery(roles.instance(), options.templates, progress));
  Timings client, server;
  for (int i = 0; i < options.iterations; ++i) {
    HEFT_RETURN_IF_ERROR(Step(progress, "probes that a client has fused"));
    HEFT_RETURN_IF_ERROR(client.Time([&]() -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(const Ciphertext sum,
                            SumProjected(roles.instance(), SampleUse::kIdentification, pointer));
      HEFT_ASSIGN_OR_RETURN(const Ciphertext real, RealPart(roles.instance(), sum, roles.keys()));
      HEFT_ASSIGN_OR_RETURN(const Ciphertext z, ToProbe(roles.instance(), real));
      HEFT_RETURN_IF_ERROR(ProveTemplateNorm(roles.instance(), real, roles.keys()).status());
      return roles.Match(gallery[0], z).status();
    }));
    HEFT_RETURN_IF_ERROR(server.Time([&]() -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(const ProvenProbe z, roles.prober().Fuse(Pointers(encrypted)));
      return roles.Match(gallery[0], z.z).status();
    }));
  }
  const std::string name = absl::StrCat("client_fused_match_", options.templates, "_ms");
  (*result)[name] = client.Median();
  (*result)["spread"][name] = client.Spread();
  (*result)["ratio_client_server_fused"] = client.Median() / server.Median();
  return absl::OkStatus();
}

absl::Status RunCold(const BenchmarkOptions& options, uint32_t gamma, const Progress& progress,
                     Json* result) {
  HEFT_ASSIGN_OR_RETURN(const Folder folder, Folder::Create());
  HEFT_ASSIGN_OR_RETURN(const ColdRuns runs, PrepareCold(options, gamma, progress, folder));
  std::vector<double> identify, verify;
  for (int i = 0; i < 9; ++i) {
    HEFT_RETURN_IF_ERROR(Step(progress, "identifying by a process of its own"));
    HEFT_ASSIGN_OR_RETURN(const double identified, CpuOfChild(runs.identify));
    HEFT_ASSIGN_OR_RETURN(const double verified, CpuOfChild(runs.verify));
    identify.push_back(identified);
    verify.push_back(verified);
  }
  (*result)["identify_cold_ms"] = experiment::Median(identify);
  (*result)["verify_cold_ms"] = experiment::Median(verify);
  return absl::OkStatus();
}

}  // namespace heft::bench
