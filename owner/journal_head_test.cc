// SPDX-License-Identifier: Apache-2.0
// What a server keeps of the key owner's journal, and how it comes back with replies and requests.
#include "gallery/journal_head.h"

#include <filesystem>

#include "base/inside.h"
#include "gallery/renewal.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "owner/testing.h"

namespace heft {
namespace {

namespace fs = std::filesystem;
using testing::Code;
using ::testing::HasSubstr;
using StatusCode = absl::StatusCode;

class JournalHeadTest : public testing::GalleryTest {
 protected:
  void SetUp() override {
    before_ = std::getenv("HEFT_STATE_DIR");
    setenv("HEFT_STATE_DIR", (temporary_ / "state").c_str(), 1);
    ASSERT_TRUE(testing::EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
  }
  void TearDown() override { setenv("HEFT_STATE_DIR", before_.c_str(), 1); }
  // The owner of the suite's key, with a journal on disk.
  KeyOwner OnDisk() const {
    SecretKeys keys = *ckks::SecretKey::FromCoefficients(*instance_->context, secret_->key_id(),
                                                         secret_->coefficients());
    JournalKeys journal_keys = *JournalKeys::Derive(keys);
    fs::create_directories(temporary_ / "keys");
    auto journal =
        QueryJournal::OnDisk(temporary_ / "keys/secret.key.journal", std::move(journal_keys));
    const absl::Status begun = journal->Start("for a test");
    EXPECT_TRUE(begun.ok() || absl::IsAlreadyExists(begun)) << begun;
    KeyOwner owner = *KeyOwner::Impl::Own(*model_, std::move(keys), std::move(journal));
    const KeyOwner::Impl& impl = Inside::Of(owner);
    impl.journal().SignHeads(
        [&impl](const JournalHead& head) { return SignHead(*impl.Signer(), head); });
    return owner;
  }
  SignedJournalHead Head(uint64_t sequence, uint8_t digest) const {
    const JournalHead head = {secret_->key_id(), sequence, {digest}, 1000000};
    return {head, *SignHead(signer_, head)};
  }
  std::vector<uint8_t> Kept() const {
    return ReadKeptHead(*Gallery::Impl::Open(directory_))->newest;
  }
  std::vector<uint8_t> Reply() const {
    const auto reply = server_->Identify(*Gallery::Impl::Open(directory_), Set({1}, {"probe"}), {});
    EXPECT_TRUE(reply.ok()) << reply.status();
    return SerializeScores(*instance_->context, *reply);
  }
  // All of the key owner's own, as it is or as it was.
  void Save() const {
    fs::remove_all(temporary_ / "saved");
    fs::create_directory(temporary_ / "saved");
    fs::copy(temporary_ / "keys", temporary_ / "saved/keys");
    fs::copy(State(), temporary_ / "saved/state");
  }
  void PutBack() const {
    for (const char* name : {"keys", "state"}) {
      const std::string to = name == std::string("keys") ? temporary_ / "keys" : State();
      fs::remove_all(to);
      fs::copy(temporary_ / (std::string("saved/") + name), to);
    }
  }
  // A request to renew the block that bob leaves.
  std::vector<uint8_t> RenewalOf(const Server& server) const {
    EXPECT_TRUE(server.Fold(directory_).ok());
    {
      GalleryChange change =
          *GalleryChange::Begin(*Gallery::Impl::Open(directory_), /*start=*/false);
      for (const Retention& retention : {Retention{0, 0}, Retention{}}) {
        change.head().retention = retention;
        EXPECT_TRUE(change.Commit().ok());
      }
    }
    EXPECT_EQ(Remove(server, directory_, {"bob"})->leaving, 1u);
    const auto request = AskRenewal(server, directory_);
    EXPECT_TRUE(request.ok()) << request.status();
    return *request;
  }
  std::string State() const { return temporary_ / "state"; }

  std::string before_;
  const SigningKey signer_ = *SigningKey::Generate();
};

TEST_F(JournalHeadTest, TheNewestIsKept) {
  EXPECT_TRUE(Kept().empty());
  EXPECT_TRUE(*KeepHead(directory_, Head(5, 1)));
  EXPECT_EQ(OpenHead(Kept(), signer_.public_key(), secret_->key_id(), "kept")->head,
            Head(5, 1).head);
}

TEST_F(JournalHeadTest, AnOlderOneChangesNothing) {
  const SignedJournalHead newest = Head(5, 1);
  ASSERT_TRUE(*KeepHead(directory_, newest));
  const uint64_t generation = DescribeGallery(directory_)->generation;
  EXPECT_FALSE(*KeepHead(directory_, newest)) << "known";
  EXPECT_FALSE(*KeepHead(directory_, Head(4, 2))) << "older";
  EXPECT_EQ(Kept(), newest.file);
  const SignedJournalHead newer = Head(6, 3);
  EXPECT_TRUE(*KeepHead(directory_, newer));
  EXPECT_EQ(Kept(), newer.file);
  EXPECT_EQ(DescribeGallery(directory_)->owner_journal_entry, 6u);
  EXPECT_EQ(DescribeGallery(directory_)->owner_journal_fork, "");
  EXPECT_EQ(DescribeGallery(directory_)->generation, generation) << "no other state of templates";
}

TEST_F(JournalHeadTest, AForkIsRecordedAndReported) {
  const SignedJournalHead newest = Head(5, 1);
  ASSERT_TRUE(*KeepHead(directory_, newest));
  for (const uint8_t other : {2, 3}) {
    const auto fork = KeepHead(directory_, Head(5, other));
    EXPECT_EQ(Code(fork), StatusCode::kFailedPrecondition);
    EXPECT_THAT(fork.status().message(), HasSubstr("two different entries 5"));
  }
  const KeptHead kept = *ReadKeptHead(*Gallery::Impl::Open(directory_));
  EXPECT_EQ(kept.newest, newest.file) << "the first stays";
  ASSERT_FALSE(kept.fork.empty());
  EXPECT_EQ(OpenHead(kept.fork, signer_.public_key(), secret_->key_id(), "fork")->head,
            Head(5, 2).head)
      << "the first fork is the record";
  EXPECT_THAT(DescribeGallery(directory_)->owner_journal_fork, HasSubstr("entries 5"));
  EXPECT_TRUE(*KeepHead(directory_, Head(6, 4))) << "a journal that was begun anew goes on";
  EXPECT_NE(DescribeGallery(directory_)->owner_journal_fork, "") << "the record stays";
}

TEST_F(JournalHeadTest, OnlyTheGallerysOwnKeyCounts) {
  const JournalHead other = {{9}, 5, {1}, 1000000};
  EXPECT_EQ(Code(KeepHead(directory_, {other, *SignHead(signer_, other)})),
            StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Kept().empty());
}

TEST_F(JournalHeadTest, AServerTakesThoseOfItsKeyOwnerAlone) {
  Server server = *Server::Create(*model_, *evaluation_, "evaluation keys");
  Trust trust;
  const SigningKey second = *SigningKey::Generate();
  ASSERT_TRUE(trust.Add(Role::kKeyOwner, "owner", signer_.public_key()).ok());
  ASSERT_TRUE(trust.Add(Role::kKeyOwner, "second", second.public_key()).ok());
  const std::vector<uint8_t> file = Head(5, 1).file;
  TrustedServer served = {std::move(server), trust, signer_.public_key()};
  EXPECT_TRUE(*served.TakeHead(directory_, file, "head"));
  EXPECT_FALSE(*served.TakeHead(directory_, file, "head"));
  EXPECT_EQ(Kept(), file);
  const auto refused = [&](const SigningKey& key, const Statement& statement,
                           const JournalHead& head) {
    const auto bytes = *key.Sign(statement, head.Serialize());
    EXPECT_EQ(Code(served.TakeHead(directory_, bytes, "head")), StatusCode::kFailedPrecondition);
    EXPECT_EQ(Kept(), file);
  };
  const JournalHead later = {secret_->key_id(), 7, {1}, 1000000};
  refused(*SigningKey::Generate(), {.role = Role::kKeyOwner}, later);  // nobody's
  refused(second, {.role = Role::kKeyOwner}, later);                   // not of these keys
  refused(signer_, {.role = Role::kServer}, later);
  refused(signer_, {.role = Role::kKeyOwner}, {{9}, 7, {1}, 1000000});
  std::vector<uint8_t> forged = Head(7, 1).file;
  forged[forged.size() - 40] ^= 1;
  EXPECT_FALSE(served.TakeHead(directory_, forged, "head").ok());
  served.trust.reset();
  EXPECT_THAT(served.TakeHead(directory_, Head(7, 1).file, "head").status().message(),
              HasSubstr("give a trust file"));
  EXPECT_EQ(Kept(), file);
}

TEST_F(JournalHeadTest, RepliesAndRequestsCarryIt) {
  const auto carried = [&](const std::vector<uint8_t>& bytes) {
    return ParseScores(*instance_->context, bytes, "reply")->head;
  };
  // A state that was opened before the head came: replies have the head all the same.
  const auto gallery = *Gallery::Impl::Open(directory_);
  EXPECT_TRUE(carried(Reply()).empty());
  const SignedJournalHead head = Head(5, 1);
  ASSERT_TRUE(*KeepHead(directory_, head));
  EXPECT_EQ(server_->Identify(gallery, Set({1}, {"probe"}), {})->head, head.file);
  EXPECT_EQ(server_->Verify(gallery, Set({1}, {"probe"}), "ann", {})->head, head.file);
  EXPECT_EQ(server_->Verify(gallery, Set({1}, {"probe"}), "nobody", {})->head, head.file);
  EXPECT_EQ(server_->Pending(gallery)->head, head.file);
  const SampleSet probe = Set({1, 2}, {"one", "two"});
  const absl::Status all = server_->IdentifyAll(gallery, probe, {}, [&](size_t, const auto& reply) {
    EXPECT_EQ(reply.head, head.file);
    return absl::OkStatus();
  });
  EXPECT_TRUE(all.ok()) << all;
  const ProbeOptions options;
  const std::vector<Server::Impl::Asked> asked(2, {&probe, &options});
  for (const auto& reply : server_->IdentifyTogether(gallery, asked)) {
    EXPECT_EQ(reply->head, head.file);
  }
  EXPECT_EQ(carried(Reply()), head.file);
}

// Key and state folder are put back together: the server's next reply shows it.
TEST_F(JournalHeadTest, AKeyOwnerThatWasPutBackOpensNothing) {
  const std::vector<uint8_t> first = Reply();
  Server server = *Server::Create(*model_, *evaluation_, "evaluation keys");
  Trust trust;
  ASSERT_TRUE(trust.Add(Role::kKeyOwner, "owner", OnDisk().Signer()->public_key()).ok());
  const TrustedServer served = {std::move(server), trust, {}};
  Save();
  {
    const KeyOwner owner = OnDisk();
    ASSERT_TRUE(owner.Decide(first, "reply", 0.5).ok());
    ASSERT_TRUE(*served.TakeHead(directory_, *owner.SignedHead(), "head"));
    EXPECT_FALSE(*served.TakeHead(directory_, *ReadFile(temporary_ / "keys/journal.head"), "head"))
        << "the same";
    EXPECT_TRUE(owner.Decide(Reply(), "reply", 0.5).ok());
    ASSERT_TRUE(*served.TakeHead(directory_, *owner.SignedHead(), "head"));
  }
  PutBack();
  const KeyOwner owner = OnDisk();
  const auto opened = owner.Decide(Reply(), "reply", 0.5);
  EXPECT_EQ(Code(opened), StatusCode::kFailedPrecondition);
  EXPECT_THAT(opened.status().message(), HasSubstr("put back to an older state"));
  EXPECT_EQ(Code(owner.Decide(first, "reply", 0.5)), StatusCode::kFailedPrecondition)
      << "nor an earlier reply, from then on";
  EXPECT_EQ(owner.Budget()->openings, 0u) << "nothing is charged";
  const auto request = SerializeAdmissionRequest(
      server_->rings(), *server_->Pending(*Gallery::Impl::Open(directory_)));
  EXPECT_EQ(Code(owner.Approve(request, "request")), StatusCode::kFailedPrecondition);
  KeyOwner again = OnDisk();
  ASSERT_TRUE(again.RestartJournal("restored from the backup").ok());
  EXPECT_TRUE(again.Decide(Reply(), "reply", 0.5).ok());
  EXPECT_TRUE(*served.TakeHead(directory_, *again.SignedHead(), "head"));
  const auto approved =
      again.Approve(SerializeAdmissionRequest(server_->rings(),
                                              *server_->Pending(*Gallery::Impl::Open(directory_))),
                    "request");
  ASSERT_TRUE(approved.ok()) << approved.status();
  ASSERT_TRUE(
      served.server.Activate(directory_, approved->signed_admission, "admission", trust).ok());
  EXPECT_EQ(Kept().empty() ? 0 : DescribeGallery(directory_)->owner_journal_entry,
            again.Budget()->entries)
      << "an admission brings the head along";
}

// A request for a renewal alone shows it, too.
TEST_F(JournalHeadTest, AKeyOwnerThatWasPutBackRenewsNothing) {
  Trust trust;
  ASSERT_TRUE(trust.Add(Role::kKeyOwner, "owner", OnDisk().Signer()->public_key()).ok());
  const TrustedServer served = {
      *Server::Create(*model_, *evaluation_, "evaluation keys"), trust, {}};
  Save();
  ASSERT_TRUE(OnDisk().Decide(Reply(), "reply", 0.5).ok());
  ASSERT_TRUE(*served.TakeHead(directory_, *OnDisk().SignedHead(), "head"));
  const std::vector<uint8_t> renewal = RenewalOf(served.server);
  EXPECT_EQ(ParseRenewalRequest(*instance_, renewal, "renewal")->head, Kept());
  ASSERT_FALSE(Kept().empty());
  EXPECT_EQ(OnDisk().Renew(renewal, "renewal")->templates, 1u);
  PutBack();
  KeyOwner owner = OnDisk();
  const auto renewed = owner.Renew(renewal, "renewal");
  EXPECT_EQ(Code(renewed), StatusCode::kFailedPrecondition);
  EXPECT_THAT(renewed.status().message(), HasSubstr("put back to an older state"));
  ASSERT_TRUE(owner.RestartJournal("restored from the backup").ok());
  EXPECT_TRUE(owner.Renew(renewal, "renewal").ok());
}

// A head that the key owner has not signed is no reason to refuse everything from then on.
TEST_F(JournalHeadTest, AForgedHeadInAReplyIsRefusedAndForgotten) {
  ASSERT_TRUE(*KeepHead(directory_, Head(1000, 1)));  // by a key that is not the owner's
  const KeyOwner owner = OnDisk();
  EXPECT_EQ(Code(owner.Decide(Reply(), "reply", 0.5)), StatusCode::kFailedPrecondition);
  EncryptedScores scores = *ParseScores(*instance_->context, Reply(), "reply");
  scores.head.clear();
  EXPECT_TRUE(owner.Decide(SerializeScores(*instance_->context, scores), "reply", 0.5).ok());
  scores.head = {1, 2, 3};
  EXPECT_EQ(Code(owner.Decide(SerializeScores(*instance_->context, scores), "reply", 0.5)),
            StatusCode::kDataLoss);
}

}  // namespace
}  // namespace heft
