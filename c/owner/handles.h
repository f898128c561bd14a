// SPDX-License-Identifier: Apache-2.0
// The content of heft_key_owner.
#ifndef HEFT_C_OWNER_HANDLES_H_
#define HEFT_C_OWNER_HANDLES_H_

#include <utility>
#include <vector>

#include "c/handles.h"
#include "heft/c/key_owner.h"
#include "heft/key_owner.h"

struct heft_key_owner : heft::c::Handle<heft_key_owner> {
  HEFT_C_HANDLE(heft_key_owner, 'owne');
  heft_key_owner(heft::KeyOwner o, std::vector<heft::ModalitySpec> m)
      : owner(std::move(o)), modalities(std::move(m)) {}
  heft::KeyOwner owner;
  const std::vector<heft::ModalitySpec> modalities;  // of its model
};

#endif  // HEFT_C_OWNER_HANDLES_H_
