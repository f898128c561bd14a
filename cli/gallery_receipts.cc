// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/gallery_commands.h"
#include "heft/removal.h"

namespace heft::cli {
namespace {

struct Options {
  std::string gallery, out;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const ReceiptFiles receipts, Receipts(options.gallery));
  Json json = {{"receipts", Json::array()}};
  std::string text;
  for (const std::vector<uint8_t>& receipt : receipts) {
    HEFT_ASSIGN_OR_RETURN(const ErasureReceipt says, ReadReceipt(receipt, "the gallery's receipt"));
    json["receipts"].push_back({{"generation", says.generation},
                                {"removed", says.removed},
                                {"erased", says.erased},
                                {"persons", says.persons}});
    absl::StrAppend(&text, "generation ", says.generation, ": erased ", TimeText(says.erased), ":");
    for (size_t i = 0; i < says.persons.size(); ++i) {
      absl::StrAppend(&text, " ", says.persons[i], " (removed ", TimeText(says.removed[i]), ")");
    }
    text += '\n';
  }
  if (!options.out.empty()) {
    HEFT_ASSIGN_OR_RETURN(json["files"], WriteReceipts(options.out, receipts));
  }
  Print(common, json, text.empty() ? "nobody has been erased" : text);
  return absl::OkStatus();
}

}  // namespace

void AddGalleryReceipts(Command group) {
  const auto [command, options] =
      AddCommand(group, "receipts", "list the receipts of who was erased, and write them",
                 "heft-server gallery receipts --gallery gallery --out receipts", Run);
  command.Add("-g,--gallery", &options->gallery, kGalleryHelp).Required();
  command.Add("-o,--out", &options->out, "folder for them, a file each");
}

}  // namespace heft::cli
