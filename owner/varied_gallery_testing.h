// SPDX-License-Identifier: Apache-2.0
// VariedGalleryTest: a gallery with records of each kind. Of its people, zoe was removed with a
// receipt. Block 0: ann and abe; amy has left it, and its renewal is open. Block 1: bob, ben and
// bea in its checkpoint and the journal; cat and cal in the journal alone. Pending: dan and dot.
#ifndef HEFT_OWNER_VARIED_GALLERY_TESTING_H_
#define HEFT_OWNER_VARIED_GALLERY_TESTING_H_

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gallery/change.h"
#include "heft/gallery_admin.h"
#include "matcher/server_impl.h"
#include "owner/roles_testing.h"

namespace heft::testing {

class VariedGalleryTest : public RolesTest {
 protected:
  void SetUp() override {
    for (const char* name : {"ann", "abe", "amy", "zoe"}) Enrol(name);
    ASSERT_EQ(Remove(*server_, folder_, {"zoe"})->receipts.size(), 1u);
    ASSERT_TRUE(server_->Fold(folder_).ok());
    Forget();
    ASSERT_EQ(Remove(*server_, folder_, {"amy"})->leaving, 1u);
    ASSERT_TRUE(AskRenewal(*server_, folder_).ok());
    for (const char* name : {"bob", "ben", "bea"}) Enrol(name);
    ASSERT_TRUE(server_->Fold(folder_).ok());
    for (const char* name : {"cat", "cal"}) Enrol(name);
    for (const char* name : {"dan", "dot"}) {
      EnrolOptions options;
      options.idempotency_key = absl::StrCat("key of ", name);
      ASSERT_TRUE(server_->Enrol(folder_, Files(Number(name), name), options).ok());
    }
  }
  uint64_t Number(const std::string& name) {
    return numbers_.emplace(name, 100 + numbers_.size()).first->second;
  }
  void Enrol(const std::string& name) {
    const auto done = EnrolNow(*server_, *owner_, folder_, Files(Number(name), name));
    ASSERT_TRUE(done.ok()) << name << ": " << done.status();
  }
  // Forget: the journal's entries that are in blocks.
  void Forget() const {
    GalleryChange change = *GalleryChange::Begin(*Gallery::Impl::Open(folder_), /*start=*/false);
    for (const Retention& retention : {Retention{0, 0}, Retention{}}) {
      change.head().retention = retention;
      ASSERT_TRUE(change.Commit().ok());
    }
  }

 private:
  std::map<std::string, uint64_t> numbers_;
};

}  // namespace heft::testing

#endif  // HEFT_OWNER_VARIED_GALLERY_TESTING_H_
