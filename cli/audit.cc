// SPDX-License-Identifier: Apache-2.0
// reveal, of the server; audit, of whoever checks it.
#include "heft/audit.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/gallery_admin.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

struct RevealOptions {
  std::string gallery, in, out, server_key;
};

absl::Status RunReveal(const Common& common, const RevealOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> reply, ReadFile(options.in, kMaxReplySize));
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, options.server_key.empty()
                                                  ? GallerySigner(options.gallery)
                                                  : LoadSigner(options.server_key));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> seed,
                        RevealSeed(options.gallery, key.public_key(), reply, options.in));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, seed));
  Print(common, {{"out", options.out}},
        absl::StrCat("for who audits ", options.in, ", and nobody else: ", options.out));
  return absl::OkStatus();
}

struct AuditOptions : ServerOptions {
  std::vector<std::string> replies, seeds, requests;
  size_t one_in = 1;
  std::string state;
  bool without_state = false;
};

// The files of one request: those of a folder, or a single one.
absl::StatusOr<std::vector<SampleFile>> ReadRequestFiles(const std::string& path) {
  std::vector<std::string> paths;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      paths.push_back(entry.path().string());
    }
    if (paths.empty()) return absl::NotFoundError(absl::StrCat(path, ": no files of a request"));
  } else {
    paths.push_back(path);
  }
  std::vector<SampleFile> files;
  for (const std::string& file : paths) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(file, kMaxSamplesSize));
    files.push_back({std::move(bytes), file});
  }
  return files;
}

// Findings: what all audits of a run have found.
class Findings {
 public:
  void Add(const std::string& what, const AuditFinding& finding) {
    wrong_ += finding.right ? 0 : 1;
    json_.push_back({{"file", what}, {"right", finding.right}});
    if (!finding.right) json_.back()["reason"] = finding.reason;
    absl::StrAppend(&text_, finding.right ? "right  " : "WRONG  ", what, finding.right ? "" : ": ",
                    finding.reason, "\n");
  }
  absl::Status Report(const Common& common) const {
    Print(common, {{"findings", json_}, {"wrong", wrong_}}, text_);
    if (wrong_ == 0) return absl::OkStatus();
    return absl::AbortedError(
        absl::StrCat(wrong_, " of ", json_.size(), " are not what they should be"));
  }

 private:
  Json json_ = Json::array();
  std::string text_;
  size_t wrong_ = 0;
};

// Without seeds: says which replies to ask the server about.
void PrintChosen(const Common& common, const AuditOptions& options,
                 const std::vector<size_t>& chosen) {
  Json json = Json::array();
  std::string text;
  for (const size_t i : chosen) {
    json.push_back(options.replies[i]);
    absl::StrAppend(&text, options.replies[i], "\n");
  }
  Print(common, {{"chosen", json}}, text);
}

// Whether the key owner has signed what the copy is of.
absl::Status AuditState(const AuditOptions& options, const TrustedServer& loaded,
                        const Gallery& copy, Findings* findings) {
  const std::string path = options.state.empty() ? StateFile(options.gallery) : options.state;
  const auto state = ReadFile(path, kMaxReplySize);
  if (absl::IsNotFound(state.status())) {
    findings->Add(options.gallery, {false, "the key owner has signed no state of it"});
    return absl::OkStatus();
  }
  HEFT_RETURN_IF_ERROR(state.status());
  HEFT_ASSIGN_OR_RETURN(const AuditFinding finding,
                        AuditGallery(loaded.server, copy, *state, *loaded.trust, path));
  findings->Add(options.gallery, finding);
  return absl::OkStatus();
}

absl::Status RunAudit(const Common& common, const AuditOptions& options) {
  const std::vector<size_t> chosen = ChooseForAudit(options.replies.size(), options.one_in);
  if (options.seeds.empty() && !options.replies.empty()) {
    PrintChosen(common, options, chosen);
    return absl::OkStatus();
  }
  if (options.seeds.size() != options.replies.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.replies.size(), " replies and ", options.seeds.size(),
                     " seeds: give --seed for each --reply, in the same order"));
  }
  if (options.model.empty() || options.keys.empty() || options.gallery.empty()) {
    return absl::InvalidArgumentError(
        "an audit needs --model, --keys and --gallery; choosing replies needs --reply alone");
  }
  HEFT_ASSIGN_OR_RETURN(const Gallery copy, Gallery::Open(options.gallery));
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/true));
  if (!loaded.trust) {
    return absl::InvalidArgumentError(
        "whose replies are audited? give --trust instead of --unchecked");
  }
  Findings findings;
  if (!options.without_state) {
    HEFT_RETURN_IF_ERROR(AuditState(options, loaded, copy, &findings));
  }
  std::vector<std::vector<SampleFile>> requests;
  for (const std::string& path : options.requests) {
    HEFT_ASSIGN_OR_RETURN(std::vector<SampleFile> files, ReadRequestFiles(path));
    requests.push_back(std::move(files));
  }
  for (const size_t i : chosen) {
    Audited audited;
    HEFT_ASSIGN_OR_RETURN(audited.reply, ReadFile(options.replies[i], kMaxReplySize));
    HEFT_ASSIGN_OR_RETURN(audited.seed, ReadFile(options.seeds[i], 1 << 12));
    audited.requests = requests;
    const auto finding = AuditReply(loaded.server, copy, *loaded.trust, audited);
    if (!finding.ok()) {
      return absl::Status(
          finding.status().code(),
          absl::StrCat(options.replies[i], ": ", std::string(finding.status().message())));
    }
    findings.Add(options.replies[i], *finding);
  }
  return findings.Report(common);
}

}  // namespace

void AddReveal(Command app) {
  const auto [command, options] = AddCommand(
      app, "reveal", "give out what the random choices of one reply follow from (server)",
      "heft reveal --gallery gallery --in scores.ct --out scores.seed", RunReveal);
  command.Add("-g,--gallery", &options->gallery, kGalleryHelp).Required();
  command.Add("-i,--in", &options->in, "a reply of this server").Required();
  command.Add("-o,--out", &options->out, "file to write, for who audits the reply").Required();
  command.Add("--server-key", &options->server_key,
              "key that the reply was signed with (default: server.key in the gallery's folder)");
}

void AddAudit(Command app) {
  const auto [command, options] = AddCommand(
      app, "audit",
      "make replies again, bit for bit, from a copy of the gallery, and compare (auditor)",
      "heft audit --reply 1.ct --reply 2.ct --one-in 10     # which to ask the server about\n"
      "  heft audit --model m.heft --keys evaluation.keys --gallery copy --request face.ct "
      "--reply 2.ct --seed 2.seed",
      RunAudit);
  command.Add("-m,--model", &options->model, "model file");
  command.Add("-k,--keys", &options->keys, "evaluation keys");
  command.Add("-g,--gallery", &options->gallery,
              "copy of the gallery's folder, as it was when it answered");
  AddEnrolmentKeys(command, options.get());
  AddKeyCache(command, options.get());
  AddTrustOptions(command, &options->trust, "the evaluation keys");
  command.Add("--reply", &options->replies, "replies of the server, signed");
  command.Add("--seed", &options->seeds,
              "what heft-server reveal wrote for each of them, in the same order; without any, the "
              "replies that are chosen are named, and nothing more is done");
  command.Add("--request", &options->requests,
              "a request as it was sent: its file, or a folder with its files and no others");
  command.Add("--one-in", &options->one_in, "audit one reply in so many, chosen by chance")
      .Range(1, 1e9)
      .ShowDefault();
  const Option state = command.Add("--state", &options->state,
                                   "the key owner's signature on the gallery's state (default: "
                                   "state.heft in its folder)");
  command
      .Add("--without-state", &options->without_state,
           "do not ask whether the key owner has signed this gallery")
      .Excludes(state);
}

}  // namespace heft::cli
