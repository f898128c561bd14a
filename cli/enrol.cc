// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "heft/client.h"
#include "heft/desk.h"
#include "heft/results.h"
#include "program/metadata_options.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

struct EnrolFlags : ServerOptions {
  EnrolOptions enrol;
  MetadataOptions metadata;
  std::string authorisation;
};

// WithMetadata: the enrolment options, the same for all templates.
absl::StatusOr<EnrolOptions> WithMetadata(const EnrolFlags& options) {
  EnrolOptions enrol = options.enrol;
  HEFT_ASSIGN_OR_RETURN(enrol.metadata, ParseMetadata(options.metadata.metadata));
  HEFT_ASSIGN_OR_RETURN(enrol.expires, ParseExpiry(options.metadata.expires, UnixTime()));
  return enrol;
}

// Nevertheless: says that the enrolment succeeded although its answer could not be written.
std::string Nevertheless(const EnrolOptions& options, const EnrolResult& done) {
  return absl::StrCat("the enrolment succeeded (", done.brought, " templates pending): ",
                      options.idempotency_key.empty()
                          ? "do not repeat it, because the same samples are refused; "
                            "--idempotency-key makes a repeat safe"
                          : absl::StrCat("repeat it with --idempotency-key ",
                                         options.idempotency_key, " to get this answer"));
}

void Tell(const Common& common, const EnrolResult& done) {
  Described told = {ToJson(done)};
  told.text = absl::StrCat(
      done.repeated ? "this request was already answered: " : "", "brought ", done.brought,
      " templates; ", done.pending,
      " are pending until the key owner approves them (heft-server pending), the gallery holds ",
      done.templates);
  if (!done.missing.empty()) {
    told.warnings.push_back(
        absl::StrCat("the templates lack ", absl::StrJoin(done.missing, ", "),
                     ": the model's decision tables are for templates with all modalities, so no "
                     "rate is known of decisions by these: enrol samples of all modalities"));
  }
  Print(common, told);
}

absl::Status RunEnrol(const Common& common, const EnrolFlags& options) {
  HEFT_ASSIGN_OR_RETURN(EnrolOptions enrol, WithMetadata(options));
  HEFT_ASSIGN_OR_RETURN(std::vector<SampleFile> files, ReadSamples(options));
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/true));
  HEFT_ASSIGN_OR_RETURN(const auto shards, LoadShards(options));
  if (!options.authorisation.empty()) {
    HEFT_ASSIGN_OR_RETURN(enrol.authorisation, ReadFile(options.authorisation));
  }
  HEFT_ASSIGN_OR_RETURN(
      const EnrolResult done,
      Desk(loaded).Enrol({options.gallery, shards, std::move(files), enrol}, common.monitor));
  if (!done.repeated) SayNevertheless(Nevertheless(enrol, done));
  Tell(common, done);
  return absl::OkStatus();
}

}  // namespace

void AddEnrol(Command app) {
  const auto [command, options] = AddCommand(
      app, "enrol", "fuse encrypted samples into pending templates of a gallery (server)",
      "heft-server enrol --model m.heft --keys evaluation.keys --gallery gallery --in face.ct --in "
      "voice.ct\n"
      "  heft-server enrol --model m.heft --keys evaluation.keys --gallery gallery --in face.ct "
      "--in voice.ct --identity ann --authorisation ann.auth    # for a person who is enrolled",
      RunEnrol);
  AddServerOptions(command, options.get());
  AddEnrolmentKeys(command, options.get());
  AddShards(command, options.get());
  AddWait(command, &options->wait);
  command.Add("--identity", &options->enrol.identity,
              "identity of all samples, instead of their labels");
  AddMetadataOptions(command, &options->metadata);
  command.Add("--authorisation", &options->authorisation,
              "the registrar's authorisation for an enrolled person (heft authorise): to add "
              "templates or, with its --act replace, to replace the old ones, which are removed "
              "when the new are activated");
  command.Add("--idempotency-key", &options->enrol.idempotency_key,
              "unique text for this request: repeating it within seven days with the same key "
              "returns the first answer and changes nothing");
  const Option all_pairs = command.Add(
      "--all-pairs", &options->enrol.all_pairs,
      "make a template of every combination of an identity's samples, one per modality");
  command
      .Add("--average", &options->enrol.average,
           absl::StrCat("the samples of an identity, up to ", kMaxSamples,
                        ", become one template, their mean, computed under encryption"))
      .Excludes(all_pairs);
}

}  // namespace heft::cli
