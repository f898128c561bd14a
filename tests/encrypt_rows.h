// SPDX-License-Identifier: Apache-2.0
// Sample files of clients, from a synthetic data set with two modalities, face and voice.
#ifndef HEFT_TESTS_ENCRYPT_ROWS_H_
#define HEFT_TESTS_ENCRYPT_ROWS_H_

#include <string>

#include "tests/workplace.h"

namespace heft::e2e {

// SamplesFile: the name of a file that EncryptRows writes.
inline std::string SamplesFile(const Workplace& work, const std::string& keys,
                               const std::string& name, const std::string& modality) {
  return work(keys + "-" + name + "-" + modality + ".ct");
}

// EncryptRows: runs heft encrypt on data/ for model.heft, with the encryption key in the folder
// `keys`; writes a file for each modality. `more`: further options.
inline void EncryptRows(const Workplace& work, const std::string& keys, const std::string& name,
                        const Args& more) {
  for (const std::string modality : {"face", "voice"}) {
    Args args = {"encrypt",
                 "--model",
                 work("model.heft"),
                 "--key",
                 work(keys + "/encryption.key"),
                 "--modality",
                 modality,
                 "--in",
                 work("data/" + modality + ".npy"),
                 "--labels",
                 work("data/labels.txt"),
                 "--out",
                 SamplesFile(work, keys, name, modality)};
    args.insert(args.end(), more.begin(), more.end());
    Must(kHeft, args);
  }
}

}  // namespace heft::e2e

#endif  // HEFT_TESTS_ENCRYPT_ROWS_H_
