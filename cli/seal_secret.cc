// SPDX-License-Identifier: Apache-2.0
// heft-seal import and export, for objects that need the secret key.
#include "absl/strings/str_cat.h"
#include "cli/seal_commands.h"
#include "heft/seal_key_owner.h"

namespace heft::cli {

absl::Status ImportSecretKey(const Common& common, const SealFiles& files) {
  HEFT_ASSIGN_OR_RETURN(const std::string in, files.In());
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(files.key.model));
  HEFT_ASSIGN_OR_RETURN(const KeyId key_id, KeyIdOf(files.key_id_of));
  HEFT_RETURN_IF_ERROR(ImportSealSecretKey(model, key_id, in, files.out,
                                           NewPassphrase(files.sealing), common.monitor,
                                           files.enrolment_in));
  Print(common, {{"out", files.out}, {"key_id", HexString(key_id)}},
        absl::StrCat("secret key (keep it secret): ", files.out, ", key ", HexString(key_id)));
  return absl::OkStatus();
}

absl::Status ExportSecretKey(const Common& common, const SealFiles& files) {
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(files.key));
  HEFT_RETURN_IF_ERROR(ExportSealSecretKey(owner, files.out, common.monitor, files.ring));
  Print(common, {{"out", files.out}, {"key_id", HexString(owner.key_id())}},
        absl::StrCat("SEAL secret key, not encrypted (keep it secret): ", files.out));
  return absl::OkStatus();
}

absl::Status ExportEvaluationKeys(const Common& common, const SealFiles& files) {
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(files.key));
  HEFT_ASSIGN_OR_RETURN(SealEvaluationKeys keys,
                        ExportSealEvaluationKeys(owner, SealCompression::kZstd, common.monitor));
  HEFT_RETURN_IF_ERROR(
      WriteNewFiles(files.out, {{"relin_keys.seal", std::move(keys.relinearisation)},
                                {"galois_keys.seal", std::move(keys.galois)}}));
  Print(
      common, {{"out", files.out}, {"galois_keys", keys.galois_keys}},
      absl::StrCat("SEAL relinearisation key and ", keys.galois_keys, " Galois keys: ", files.out));
  return absl::OkStatus();
}

}  // namespace heft::cli
