# SPDX-License-Identifier: Apache-2.0
# Which sources of the rooms below the browser's client is made of. Each is in one of the two lists: the native build holds
# them against its own (tests/browser/CMakeLists.txt), so that a new one is not forgotten where Emscripten is missing.
set(HEFT_BROWSER_ROOMS base ring ckks inverse_sqrt fusion)
set(HEFT_BROWSER_SOURCES
  base/buffer_pool.cc base/bytes.cc base/check.cc base/csprng.cc base/decisions.cc base/envelope.cc base/identity.cc base/kinds.cc
  base/impostor_tail.cc base/json.cc base/keyed_hash.cc base/passphrase.cc base/reply_seed.cc base/secure.cc base/signed_file.cc
  base/signing.cc base/trust.cc
  ring/ahead.cc ring/kernels_reference.cc ring/kernels_checked.cc ring/kernels_simd.cc ring/modulus.cc ring/ntt.cc ring/runtime.cc
  ring/sampling.cc
  ckks/arithmetic.cc ckks/bounded_encoder.cc ckks/context.cc ckks/digits.cc ckks/encoder.cc ckks/encryptor.cc
  ckks/galois_sums.cc ckks/inner_product.cc ckks/key_switch.cc ckks/keys.cc ckks/noise.cc ckks/operation_counts.cc
  ckks/params.cc ckks/ring_switch.cc ckks/seeded.cc ckks/serialization.cc ckks/shape.cc ckks/short_ciphertext.cc
  ckks/subchain.cc
  inverse_sqrt/approximation.cc
  fusion/bulk.cc fusion/client.cc fusion/compact.cc fusion/cyclic_sums.cc fusion/errors.cc fusion/factored.cc fusion/fuser.cc fusion/key_files.cc
  fusion/key_needs.cc fusion/mean.cc fusion/model.cc fusion/normalise.cc fusion/plan.cc fusion/probe_scale.cc
  fusion/profile.cc fusion/projected.cc fusion/rings.cc fusion/rotation_grid.cc fusion/samples.cc fusion/scalar_sums.cc)
# Files, threads, and what a server computes. inline_threads.cc stands for base/threads.cc,
# openssl_stand_in.cc for base/hash.cc and base/public_stream.cc.
set(HEFT_NOT_IN_BROWSER
  base/append_file.cc base/audit_chain.cc base/checksum.cc base/checksum_avx2.cc base/expiry.cc base/files.cc base/folders.cc
  base/file_size_signal.cc base/hash.cc base/mapped_file.cc
  base/metadata.cc base/public_stream.cc base/regular_file.cc base/shards.cc base/state_folder.cc base/status.cc base/threads.cc
  ckks/chebyshev.cc ckks/zero_sample.cc
  inverse_sqrt/composite.cc inverse_sqrt/fit.cc inverse_sqrt/goldschmidt.cc
  fusion/added_templates.cc fusion/expanded_keys.cc fusion/inspect.cc fusion/matching.cc fusion/norm_factor.cc fusion/norm_proof.cc
  fusion/probe.cc fusion/recovery_figures.cc fusion/rekey.cc fusion/renewal.cc fusion/stand_in.cc fusion/thin_fuser.cc
  fusion/tiled_ciphertexts.cc)
