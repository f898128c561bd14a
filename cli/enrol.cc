// SPDX-License-Identifier: Apache-2.0
#include <ctime>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/metadata_options.h"
#include "cli/server_options.h"
#include "heft/audit.h"
#include "heft/client.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  EnrolOptions enrol;
  MetadataOptions metadata;
  std::string authorisation;
};

// WithMetadata: what the options say, of all templates alike.
absl::StatusOr<EnrolOptions> WithMetadata(const Options& options) {
  EnrolOptions enrol = options.enrol;
  HEFT_ASSIGN_OR_RETURN(enrol.metadata, ParseMetadata(options.metadata.metadata));
  HEFT_ASSIGN_OR_RETURN(enrol.expires, ParseExpiry(options.metadata.expires,
                                                   static_cast<uint64_t>(std::time(nullptr))));
  return enrol;
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(EnrolOptions enrol, WithMetadata(options));
  HEFT_ASSIGN_OR_RETURN(std::vector<SampleFile> files, ReadSamples(options));
  HEFT_ASSIGN_OR_RETURN(const LoadedServer loaded, LoadServer(common, options, /*enrols=*/true));
  // A gallery that is yet to be has no key that a request could be for.
  SignerKey own{};
  const auto signer = GallerySigner(options.gallery);
  if (signer.ok()) own = signer->public_key();
  if (!absl::IsNotFound(signer.status())) HEFT_RETURN_IF_ERROR(signer.status());
  HEFT_ASSIGN_OR_RETURN(const Request request, loaded.CheckRequest(files, own));
  if (signer.ok()) {
    HEFT_RETURN_IF_ERROR(RememberRequest(options.gallery, request, kAllRows));
  }
  if (loaded.trust) enrol.trust = &*loaded.trust;
  if (!options.authorisation.empty()) {
    HEFT_ASSIGN_OR_RETURN(enrol.authorisation, ReadFile(options.authorisation));
  }
  HEFT_ASSIGN_OR_RETURN(
      const EnrolResult done,
      loaded.server.Enrol(options.gallery, std::move(files), enrol, common.monitor));
  HEFT_RETURN_IF_ERROR(GallerySigner(options.gallery).status());  // made with the gallery
  if (!signer.ok()) {                                             // so is what remembers requests
    HEFT_RETURN_IF_ERROR(RememberRequest(options.gallery, request, kAllRows));
  }
  HEFT_RETURN_IF_ERROR(MakeAuditKey(options.gallery));
  Print(common,
        {{"brought", done.brought},
         {"waiting", done.waiting},
         {"templates", done.templates},
         {"blocks", done.blocks}},
        absl::StrCat("brought ", done.brought, " templates; ", done.waiting,
                     " wait for the key owner (heft-server pending), the gallery holds ",
                     done.templates));
  return absl::OkStatus();
}

}  // namespace

void AddEnrol(Command app) {
  auto options = std::make_shared<Options>();
  const Command command = AddCommand(
      app, "enrol", "fuse encrypted samples and bring them into a gallery's quarantine (server)",
      "heft enrol --model m.heft --keys evaluation.keys --gallery gallery "
      "--in face.ct --in voice.ct",
      [options](const Common& common) { return Run(common, *options); });
  AddServerOptions(command, options.get());
  AddEnrolmentKeys(command, options.get());
  command.Add("--identity", &options->enrol.identity,
              "enrol all samples under this identity instead of their labels");
  AddMetadataOptions(command, &options->metadata);
  command.Add("--authorisation", &options->authorisation,
              "the registrar's, for somebody who is enrolled already (heft authorise)");
  const Option all_pairs =
      command.Add("--all-pairs", &options->enrol.all_pairs,
                  "every combination of an identity's samples, one a modality");
  command
      .Add("--average", &options->enrol.average,
           absl::StrCat("the samples of an identity, up to ", kMostSamples,
                        ", become one template: their mean, taken under encryption"))
      .Excludes(all_pairs);
}

}  // namespace heft::cli
