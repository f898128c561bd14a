// SPDX-License-Identifier: Apache-2.0
// SealParty: SEAL's objects for one set of parameters, with the keys of one key owner.
#ifndef HEFT_BENCH_PEER_SEAL_SEAL_PARTY_H_
#define HEFT_BENCH_PEER_SEAL_SEAL_PARTY_H_

#include <seal/seal.h>

#include <memory>
#include <vector>

namespace heft::bench {

// The step that stands for conjugation, as in SEAL.
inline constexpr int kConjugation = 0;

class SealParty {
 public:
  // Bit counts from the base prime up; the last is the special prime's. Galois keys for exactly
  // `steps`.
  SealParty(size_t degree, const std::vector<int>& prime_bits, const std::vector<int>& steps)
      : context_(MakeParameters(degree, prime_bits)),
        evaluator_(context_),
        encoder_(context_),
        generator_(context_),
        encryptor_(context_, generator_.secret_key()),
        decryptor_(context_, generator_.secret_key()) {
    generator_.create_relin_keys(relin_keys_);
    generator_.create_galois_keys(steps, galois_keys_);
  }

  size_t slots() const { return encoder_.slot_count(); }
  const seal::Evaluator& evaluator() const { return evaluator_; }

  // The level with `primes` primes, and the prime that a rescale from there divides by.
  const seal::parms_id_type& Level(size_t primes) const { return Data(primes)->parms_id(); }
  double LastPrime(size_t primes) const {
    return static_cast<double>(Data(primes)->parms().coeff_modulus().back().value());
  }

  // `values`: real or complex slots, or one number for all of them.
  template <typename T>
  seal::Plaintext Encode(const T& values, double scale, size_t primes) const {
    seal::Plaintext plain;
    encoder_.encode(values, Level(primes), scale, plain);
    return plain;
  }
  seal::Ciphertext Encrypt(const std::vector<double>& slots, double scale, size_t primes) const {
    seal::Ciphertext out;
    encryptor_.encrypt_symmetric(Encode(slots, scale, primes), out);
    return out;
  }
  std::vector<double> Decrypt(const seal::Ciphertext& ciphertext) const {
    seal::Plaintext plain;
    decryptor_.decrypt(ciphertext, plain);
    std::vector<double> slots;
    encoder_.decode(plain, slots);
    return slots;
  }

  // Adds c's own rotation, or conjugate.
  void Fold(int step, seal::Ciphertext* c) const {
    seal::Ciphertext rotated;
    if (step == kConjugation) {
      evaluator_.complex_conjugate(*c, galois_keys_, rotated);
    } else {
      evaluator_.rotate_vector(*c, step, galois_keys_, rotated);
    }
    evaluator_.add_inplace(*c, rotated);
  }
  void Rotate(int step, seal::Ciphertext* c) const {
    evaluator_.rotate_vector_inplace(*c, step, galois_keys_);
  }
  void RelinearizeRescale(seal::Ciphertext* c) const {
    evaluator_.relinearize_inplace(*c, relin_keys_);
    evaluator_.rescale_to_next_inplace(*c);
  }

 private:
  static seal::EncryptionParameters MakeParameters(size_t degree, const std::vector<int>& bits) {
    seal::EncryptionParameters parameters(seal::scheme_type::ckks);
    parameters.set_poly_modulus_degree(degree);
    parameters.set_coeff_modulus(seal::CoeffModulus::Create(degree, bits));
    return parameters;
  }
  std::shared_ptr<const seal::SEALContext::ContextData> Data(size_t primes) const {
    auto data = context_.first_context_data();
    while (data->parms().coeff_modulus().size() > primes) data = data->next_context_data();
    return data;
  }

  seal::SEALContext context_;
  seal::Evaluator evaluator_;
  mutable seal::CKKSEncoder encoder_;
  seal::KeyGenerator generator_;
  seal::Encryptor encryptor_;
  mutable seal::Decryptor decryptor_;
  seal::RelinKeys relin_keys_;
  seal::GaloisKeys galois_keys_;
};

}  // namespace heft::bench

#endif  // HEFT_BENCH_PEER_SEAL_SEAL_PARTY_H_
