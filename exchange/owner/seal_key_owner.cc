// SPDX-License-Identifier: Apache-2.0
#include "heft/seal_key_owner.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/progress.h"
#include "base/secure.h"
#include "fusion/owner/secret_key_file.h"
#include "gallery/owner/key_owner_impl.h"
#include "seal/owner/secret_key.h"

namespace heft {
namespace {

absl::Status RefuseExisting(const std::string& path) {
  if (!FileExists(path)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(path, " exists: keys are never overwritten"));
}

}  // namespace

absl::Status ImportSealSecretKey(const Model& model, const KeyId& key_id, const std::string& in,
                                 const std::string& out, const PassphraseSource& passphrase,
                                 const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  HEFT_RETURN_IF_ERROR(RefuseExisting(out));
  const ckks::Context& context = *instance.context;
  HEFT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(in, 1 << 26));
  HEFT_RETURN_IF_ERROR(file.permissions);
  HEFT_ASSIGN_OR_RETURN(const ckks::SecretKey secret,
                        seal::ReadSecretKey(context, key_id, file.bytes.span(), in));
  std::string sealed;
  if (passphrase) {
    HEFT_ASSIGN_OR_RETURN(sealed, passphrase());
  }
  auto bytes = SerializeSecretKey(context, secret, sealed);
  SecureWipe(sealed.data(), sealed.size());
  HEFT_RETURN_IF_ERROR(bytes.status());
  const absl::Status written =
      Stopped(monitor) ? absl::CancelledError("interrupted") : WriteFileAtomic(out, *bytes, 0600);
  SecureWipe(bytes->data(), bytes->size());
  return written;
}

absl::Status ExportSealSecretKey(const KeyOwner& owner, const std::string& out,
                                 const Monitor& monitor) {
  HEFT_RETURN_IF_ERROR(RefuseExisting(out));
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        seal::WriteSecretKey(*owner.impl().instance().context, owner.impl().key()));
  HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
  return WriteFileAtomic(out, bytes.span(), 0600);
}

absl::StatusOr<SealEvaluationKeys> ExportSealEvaluationKeys(const KeyOwner& owner,
                                                            SealCompression compression,
                                                            const Monitor& monitor) {
  const Instance& instance = owner.impl().instance();
  const ckks::Context& context = *instance.context;
  const ckks::SecretKey& secret = owner.impl().key();
  Csprng rng;
  std::map<uint32_t, seal::KeyDigits> galois;
  const Progress progress(monitor, "making Galois keys");
  for (const auto& [element, limbs] : instance.plan.keys.galois_keys) {
    HEFT_RETURN_IF_ERROR(progress.Step(galois.size(), instance.plan.keys.galois_keys.size()));
    galois[element] = seal::MakeSeededGaloisKey(context, secret, element, rng);
  }
  const auto inner = static_cast<seal::Compression>(compression);
  SealEvaluationKeys out;
  out.relinearisation = seal::WriteRelinearisationKey(
      context, seal::MakeSeededRelinearisationKey(context, secret, rng), inner);
  out.galois = seal::WriteGaloisKeys(context, galois, inner);
  out.galois_keys = galois.size();
  return out;
}

}  // namespace heft
