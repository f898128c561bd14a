// SPDX-License-Identifier: Apache-2.0
// A gallery in buckets on databases that play nodes: their functions are SQL, and their replies
// list the arguments. sql/test/services_test.sh has real nodes.
#include "service/matcher/bucket_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/envelope.h"
#include "heft/shards.h"
#include "postgres/server_testing.h"

namespace heft::service {
namespace {

using namespace std::chrono_literals;
using absl::StatusCode;
using postgres_testing::SharedServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kRouter[] = R"(
CREATE SCHEMA heft_router;
CREATE TABLE heft_router.nodes (number integer, name text);
CREATE TABLE heft_router.galleries (name text, buckets integer);
CREATE TABLE heft_router.buckets (gallery text, bucket integer, gallery_id text, node integer);
)";
// `wait`: seconds before the answer. `copies`: how often a bucket answers.
constexpr char kNode[] = R"(
CREATE SCHEMA heft;
CREATE TABLE heft.its (name text, gallery_id text, wait float8 DEFAULT 0, copies integer DEFAULT 1);
CREATE FUNCTION heft.heft_bucket_names(gallery text, wanted integer[]) RETURNS text[]
  LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM unnest(wanted) w WHERE gallery || '.00' || w NOT IN (SELECT name FROM heft.its)) THEN
    RAISE EXCEPTION 'a bucket is not on this node' USING ERRCODE = 'HF002';
  END IF;
  RETURN (SELECT array_agg(gallery || '.00' || w ORDER BY n) FROM unnest(wanted) WITH ORDINALITY u (w, n));
END $$;
CREATE FUNCTION heft.heft_bucket_for(gallery text, bucket integer, identity text) RETURNS text
  LANGUAGE sql AS $$ SELECT (heft.heft_bucket_names(gallery, ARRAY[bucket]))[1] $$;
CREATE FUNCTION heft.heft_identify_many(galleries text[], probe bytea[], conditions text[], identities boolean,
    OUT gallery text, OUT gallery_id text, OUT generation bigint, OUT reply bytea)
  RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
  IF probe[1] = 'bad'::bytea THEN
    RAISE EXCEPTION 'face.ct: no probe' USING ERRCODE = '22P03';
  ELSIF probe[1] = 'unlucky'::bytea THEN
    RAISE EXCEPTION 'run 0 of the roster is damaged' USING ERRCODE = 'XX001';
  END IF;
  PERFORM pg_sleep(wait) FROM heft.its WHERE name = ANY (galleries);
  RETURN QUERY SELECT name, i.gallery_id, 1::bigint, convert_to(concat_ws(' ', name,
      array_to_string(ARRAY(SELECT encode(p, 'escape') FROM unnest(probe) p), '+'),
      array_to_string(conditions, '&'), identities, pg_backend_pid()), 'UTF8')
    FROM unnest(galleries) WITH ORDINALITY g (name, n) JOIN heft.its i USING (name), generate_series(1, copies)
    ORDER BY n;
END $$;
CREATE FUNCTION heft.heft_verify(gallery text, identity text, samples bytea[]) RETURNS bytea
  LANGUAGE sql AS $$ SELECT convert_to(gallery || ' ' || identity, 'UTF8') $$;
)";

std::string Text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }
// Without the number of the process at its end.
std::string Said(std::span<const uint8_t> reply) {
  const std::string text = Text(reply);
  return text.substr(0, text.rfind(' '));
}
std::string Process(std::span<const uint8_t> reply) {
  const std::string text = Text(reply);
  return text.substr(text.rfind(' ') + 1);
}

class BucketNodesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!postgres_testing::ServerIsInstalled()) GTEST_SKIP() << "postgresql-15 is not installed";
    router_ = SharedServer().NewDatabase();
    ASSERT_TRUE(Sql(router_, kRouter));
    Must(router_, "INSERT INTO heft_router.galleries VALUES ('people', 4)");
    for (int node = 0; node < 2; ++node) {
      nodes_[node] = SharedServer().NewDatabase();
      ASSERT_TRUE(Sql(nodes_[node], kNode));
      Must(router_,
           absl::StrCat("INSERT INTO heft_router.nodes VALUES (", node, ", '", nodes_[node], "')"));
    }
    for (int bucket = 0; bucket < 4; ++bucket) {
      Must(router_, absl::StrCat("INSERT INTO heft_router.buckets VALUES ('people', ", bucket,
                                 ", 'id", bucket, "', ", bucket % 2, ")"));
      Must(nodes_[bucket % 2],
           absl::StrCat("INSERT INTO heft.its VALUES ('people.00", bucket, "', 'id", bucket, "')"));
    }
    galleries_ = std::make_unique<BucketNodes>(router_, std::vector<std::string>{"people"}, 0ms);
  }

  static bool Sql(const std::string& service, const std::string& statements) {
    return SharedServer().Sql(service, statements);
  }
  static void Must(const std::string& service, const std::string& statements) {
    ASSERT_TRUE(Sql(service, statements)) << statements;
  }
  absl::StatusOr<BucketReplies> Identify(const std::string& probe = "face",
                                         std::chrono::milliseconds within = 60s) {
    ProbeRequest request;
    request.files = {{{probe.begin(), probe.end()}, "face.ct"}, {{'v'}, "voice.ct"}};
    request.options.where = {{"site", {"a", "b"}}, {"age", {}, 18, 30}};
    return galleries_->Identify("people", request, BucketNodes::Clock::now() + within);
  }
  static std::string Running(const std::string& service) {
    return SharedServer().Ask(
        service,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
        "wait_event = 'PgSleep'");
  }
  static bool RunsNoMore(const std::string& service) {
    for (int i = 0; i < 1000; ++i) {
      if (Running(service) == "0") return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }

  std::string router_, nodes_[2];
  std::unique_ptr<BucketNodes> galleries_;
};

TEST_F(BucketNodesTest, EachNodeAnswersForItsBucketsInTheirOrder) {
  EXPECT_TRUE(galleries_->Has("people"));
  EXPECT_FALSE(galleries_->Has("other"));
  const auto got = Identify();
  ASSERT_TRUE(got.ok()) << got.status();
  std::vector<std::string> said;
  for (const auto& reply : got->replies) said.push_back(Said(reply));
  const std::string asked = " face+v site=a|b&age=18..30 t";
  EXPECT_THAT(said, ElementsAre("people.000" + asked, "people.001" + asked, "people.002" + asked,
                                "people.003" + asked));
  EXPECT_EQ(Process(got->replies[0]), Process(got->replies[2]));
  const auto again = Identify();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Process(got->replies[1]), Process(again->replies[1])) << "the connection was not kept";
}

TEST_F(BucketNodesTest, NodesWorkAtTheSameTime) {
  for (const std::string& node : nodes_) Must(node, "UPDATE heft.its SET wait = 0.5");
  std::atomic<int> at_once = 0;
  std::thread asking([&] { EXPECT_TRUE(Identify().ok()); });
  for (int i = 0; i < 300 && at_once == 0; ++i) {
    at_once = Running(nodes_[0]) == "1" && Running(nodes_[1]) == "1";
  }
  asking.join();
  EXPECT_EQ(at_once, 1);
}

TEST_F(BucketNodesTest, ANodeWithoutAnAnswerInTimeIsNamedAndEndsItsWork) {
  Must(nodes_[1], "UPDATE heft.its SET wait = 600");
  const auto late = Identify("face", 300ms);
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.status().message(),
              HasSubstr("node " + nodes_[1] + ": it has not answered in time"));
  EXPECT_TRUE(RunsNoMore(nodes_[1]));
  Must(nodes_[1], "UPDATE heft.its SET wait = 0");
  EXPECT_TRUE(Identify().ok());
}

TEST_F(BucketNodesTest, AnErrorAtOneNodeEndsTheWorkOfAll) {
  Must(nodes_[1], "UPDATE heft.its SET wait = 600");
  Must(nodes_[0], "DROP FUNCTION heft.heft_identify_many");
  const auto refused = Identify();
  EXPECT_EQ(refused.status().code(), StatusCode::kInternal);
  EXPECT_THAT(refused.status().message(), HasSubstr("node " + nodes_[0] + ": "));
  EXPECT_TRUE(RunsNoMore(nodes_[1]));
}

TEST_F(BucketNodesTest, ABadProbeIsTheCallersError) {
  const auto refused = Identify("bad");
  EXPECT_EQ(refused.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(refused.status().message(), HasSubstr("face.ct: no probe"));
}

TEST_F(BucketNodesTest, ADamagedGalleryIsNotTheCallersError) {
  EXPECT_EQ(Identify("unlucky").status().code(), StatusCode::kInternal);
}

TEST_F(BucketNodesTest, ALostConnectionIsMadeAnew) {
  const auto before = Identify();
  ASSERT_TRUE(before.ok());
  for (const std::string& service : {router_, nodes_[0], nodes_[1]}) {
    Must(service,
         "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
         "WHERE datname = current_database() AND pid <> pg_backend_pid()");
  }
  const auto after = Identify();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_NE(Process(before->replies[0]), Process(after->replies[0]));
}

TEST_F(BucketNodesTest, ANodeThatIsAwayIsNamed) {
  Must(router_, "UPDATE heft_router.nodes SET name = 'node-x' WHERE number = 1");
  const auto away = Identify();
  EXPECT_EQ(away.status().code(), StatusCode::kUnavailable);
  // What libpq says is for the log.
  EXPECT_EQ(away.status().message(), "node node-x does not answer: try again later");
}

TEST_F(BucketNodesTest, APartIsNeverTheWhole) {
  const auto wrong = [&](const std::string& what) {
    const auto got = Identify();
    EXPECT_EQ(got.status().code(), StatusCode::kInternal) << what << ": " << got.status();
  };
  Must(nodes_[1], "UPDATE heft.its SET copies = 2 WHERE name = 'people.003'");
  wrong("a bucket twice");
  Must(nodes_[1], "UPDATE heft.its SET copies = 0 WHERE name = 'people.003'");
  wrong("a bucket never");
  Must(nodes_[1], "UPDATE heft.its SET copies = CASE name WHEN 'people.001' THEN 2 ELSE 0 END");
  wrong("one bucket instead of another");
  Must(nodes_[1], "UPDATE heft.its SET copies = 1, gallery_id = 'id0'");
  wrong("another gallery of the name");
  Must(router_, "DELETE FROM heft_router.buckets WHERE bucket = 2");
  wrong("a bucket less in the map");
  Must(router_, "DELETE FROM heft_router.buckets");
  EXPECT_EQ(Identify().status().code(), StatusCode::kNotFound);
}

TEST_F(BucketNodesTest, AMovedBucketIsFoundAgain) {
  galleries_ = std::make_unique<BucketNodes>(router_, std::vector<std::string>{"people"}, 1h);
  ASSERT_TRUE(Identify().ok());
  Must(nodes_[0], "INSERT INTO heft.its VALUES ('people.001', 'id1')");
  Must(nodes_[1], "DELETE FROM heft.its WHERE name = 'people.001'");
  EXPECT_EQ(Identify().status().code(), StatusCode::kUnavailable) << "it is nowhere";
  Must(router_, "UPDATE heft_router.buckets SET node = 0 WHERE bucket = 1");
  const auto got = Identify();
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(Process(got->replies[0]), Process(got->replies[1]));
}

TEST_F(BucketNodesTest, NodesAnswerWithoutTheRouter) {
  ASSERT_TRUE(Identify().ok());
  const std::string other = SharedServer().NewDatabase();
  Must(other, absl::StrCat("ALTER DATABASE ", router_, " ALLOW_CONNECTIONS false"));
  Must(other, absl::StrCat("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                           "WHERE datname = '",
                           router_, "'"));
  EXPECT_TRUE(Identify().ok());
  // A new process has no map.
  const BucketNodes::Clock::time_point until = BucketNodes::Clock::now() + 60s;
  BucketNodes others(router_, {"people"});
  EXPECT_EQ(others.Identify("people", {}, until).status().code(), StatusCode::kUnavailable);
  Must(other, absl::StrCat("ALTER DATABASE ", router_, " ALLOW_CONNECTIONS true"));
}

TEST_F(BucketNodesTest, NodesAnswerWhileTheRouterHangs) {
  ASSERT_TRUE(Identify().ok());
  std::thread holding(
      [&] { Sql(router_, "BEGIN; LOCK TABLE heft_router.galleries; SELECT pg_sleep(600)"); });
  while (Running(router_) != "1") absl::SleepFor(absl::Milliseconds(10));
  EXPECT_TRUE(Identify().ok());
  Must(router_,
       "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
       "WHERE datname = current_database() AND wait_event = 'PgSleep'");
  holding.join();
}

TEST_F(BucketNodesTest, AClaimGoesToTheBucketOfThePerson) {
  for (const std::string person : {"ann", "bob", "zoë"}) {
    const auto got = galleries_->Verify("people", person, {}, BucketNodes::Clock::now() + 60s);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->replies.size(), 1u);
    EXPECT_EQ(Text(got->replies[0]),
              absl::StrCat(BucketAddress("people", BucketOf(person, 4)), " ", person));
  }
}

TEST_F(BucketNodesTest, AConditionWithoutATextIsRefused) {
  ProbeRequest request;
  request.options.where = {{"site", {"a|b"}}};
  const auto refused = galleries_->Identify("people", request, BucketNodes::Clock::now() + 60s);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("\"site\""));
}

TEST_F(BucketNodesTest, AnswersBeyondTheLimitAreRefused) {
  NodeCalls calls;
  const std::vector<NodeCall> both = {{nodes_[0], "SELECT repeat('x', 600)", {}, 1, 1},
                                      {nodes_[1], "SELECT repeat('x', 600)", {}, 1, 1}};
  const auto until = NodeCalls::Clock::now() + 60s;
  EXPECT_TRUE(calls.Ask(both, 1200, until).ok());
  EXPECT_EQ(calls.Kept(), 2u);
  EXPECT_EQ(calls.Ask(both, 1199, until).status().code(), StatusCode::kInternal);
  // No column, and one too many.
  for (const char* columns : {"", "1, 2"}) {
    const std::string statement = absl::StrCat("SELECT ", columns);
    EXPECT_EQ(calls.Ask({{nodes_[0], statement, {}, 1, 1}}, 1200, until).status().code(),
              StatusCode::kInternal);
  }
}

// A node takes a signed request once, so it is not sent again.
TEST_F(BucketNodesTest, ASignedRequestIsNotRepeated) {
  galleries_ = std::make_unique<BucketNodes>(router_, std::vector<std::string>{"people"}, 1h);
  ASSERT_TRUE(Identify().ok());
  Must(nodes_[0], "INSERT INTO heft.its VALUES ('people.001', 'id1')");
  Must(nodes_[1], "DELETE FROM heft.its WHERE name = 'people.001'");
  Must(router_, "UPDATE heft_router.buckets SET node = 0 WHERE bucket = 1");
  ProbeRequest request;
  request.files = {
      {*SigningKey::Generate()->Sign({.role = Role::kClient},
                                     SealEnvelope("CTXT", 1, std::vector<uint8_t>(100))),
       "face.ct"}};
  const auto until = BucketNodes::Clock::now() + 60s;
  const auto refused = galleries_->Identify("people", request, until);
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("sign a new request"));
  EXPECT_TRUE(Identify().ok());
}

TEST_F(BucketNodesTest, AClaimOfNoValidNameIsTheCallersError) {
  const auto refused = galleries_->Verify("people", "\xFF", {}, BucketNodes::Clock::now() + 60s);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace heft::service
