// SPDX-License-Identifier: Apache-2.0
// The client's role: heft::MakeInstance (fusion/plan.h) derives everything from a model,
// heft::ParseEncryptionKey reads the key, heft::EncryptSamples makes one file a modality.
#ifndef HEFT_CLIENT_H_
#define HEFT_CLIENT_H_

#include "fusion/key_files.h"  // IWYU pragma: export
#include "fusion/plan.h"       // IWYU pragma: export
#include "fusion/samples.h"    // IWYU pragma: export
#include "heft/model.h"        // IWYU pragma: export

#endif  // HEFT_CLIENT_H_
