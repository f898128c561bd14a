// SPDX-License-Identifier: Apache-2.0
// The store's tables in a database: making them, blobs in them and in the cache, erasure, copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "postgres/schema.h"
#include "postgres/sql_testing.h"
#include "store/layout_sql.h"

namespace heft {
namespace {

using namespace store_testing;
using postgres_testing::SharedServer;
using postgres_testing::SqlStoreTest;
using ::testing::HasSubstr;

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

std::string Comments(const Layout& layout, const std::vector<Column>& columns) {
  const std::string table = TableText(layout, Dialect::kPostgres);
  std::string text =
      absl::StrCat("COMMENT ON TABLE ", table, " IS ", Quoted(layout.comment), ";\n");
  for (const Column& column : columns) {
    absl::StrAppend(&text, "COMMENT ON COLUMN ", table, ".", column.name, " IS ",
                    Quoted(column.comment), ";\n");
  }
  return text;
}

// TableOf: a row belongs to a gallery by its column of that name.
std::string TableOf(const Layout& layout) {
  const std::vector<Column> columns = AllColumns(layout, Dialect::kPostgres);
  const std::string table = TableText(layout, Dialect::kPostgres);
  const char* const types[] = {"bigint", "double precision", "text", "bytea"};  // SqlType
  std::string text = absl::StrCat("CREATE TABLE ", table, " (");
  for (const Column& column : columns) {
    absl::StrAppend(&text, "\n  ", column.name, " ", types[static_cast<size_t>(column.type)],
                    column.optional ? "" : " NOT NULL",
                    column.name == "gallery" ? " REFERENCES heft.gallery ON DELETE CASCADE" : "",
                    ",");
  }
  if (layout.opaque) {
    absl::StrAppend(&text,
                    "\n  CHECK ((value IS NULL) = (hash IS NOT NULL) AND (hash IS NULL) = "
                    "(length IS NULL)),");
  }
  absl::StrAppend(&text, "\n  PRIMARY KEY (", KeyNames(layout), ")\n);\n");
  if (layout.opaque) {
    absl::StrAppend(&text, "ALTER TABLE ", table, " ALTER COLUMN value SET STORAGE EXTERNAL;\n");
  }
  return text + Comments(layout, columns);
}

// kBlobs: each belongs to a gallery, so that it goes with it.
constexpr char kBlobs[] = R"(
CREATE TABLE heft.blobs (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  uses bigint NOT NULL CHECK (uses >= 0),
  bytes bytea NOT NULL,
  PRIMARY KEY (hash, gallery)
);
ALTER TABLE heft.blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
-- Room in a page for a row's next version: `uses` changes in place.
ALTER TABLE heft.blobs SET (fillfactor = 70);
COMMENT ON TABLE heft.blobs IS 'long values; they never change, so a cache is never stale';
COMMENT ON COLUMN heft.blobs.hash IS 'SHA-256 of the bytes';
COMMENT ON COLUMN heft.blobs.uses IS 'rows that name it; none: it goes with the commit';
)";

// kServer: a role that HEFT's servers connect as may add commits, and needs all rows.
constexpr std::string_view kServer =
    "(SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT'))";

// Rows are seen by the owner of the tables, by servers, and by members of the gallery's tenant that
// were granted the right to read.
std::string Policy(std::string_view table) {
  return absl::StrCat("ALTER TABLE heft.", std::string(table),
                      " ENABLE ROW LEVEL SECURITY;\nCREATE POLICY tenants ON heft.",
                      std::string(table), "\n  USING (", std::string(kServer),
                      " OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = ",
                      std::string(table), ".gallery));\n");
}

// TablesText: statements that make all tables but the store's own.
std::string TablesText() {
  const Layout& gallery = LayoutOf(Table::kCatalog);
  std::string text = absl::StrCat(
      "CREATE TABLE heft.gallery (\n  number bigint PRIMARY KEY,\n  name text COLLATE \"C\" "
      "UNIQUE,\n"
      "  checksum bigint,\n  tenant name\n);\n",
      Comments(gallery, gallery.columns),
      "COMMENT ON COLUMN heft.gallery.tenant IS 'a role: its members see the gallery''s rows; "
      "NULL: only the owner of the tables does';\n"
      "ALTER TABLE heft.gallery ENABLE ROW LEVEL SECURITY;\n"
      "CREATE POLICY tenants ON heft.gallery\n  USING (",
      std::string(kServer),
      " OR EXISTS (SELECT 1 FROM pg_catalog.pg_roles r\n"
      "    WHERE r.rolname = tenant AND pg_catalog.pg_has_role(r.oid, 'MEMBER')));\n",
      kBlobs, Policy("blobs"));
  for (size_t i = 1; i < kLayouts; ++i) {
    absl::StrAppend(&text, "\n", TableOf(LayoutAt(i)), Policy(LayoutAt(i).name));
  }
  return text;
}

class SqlTablesTest : public SqlStoreTest {
 protected:
  std::string CachedFile(ByteSpan bytes) const {
    return CacheFolder() + "/" + HexString(HashBytes(bytes));
  }
  std::string Blobs() { return Ask("SELECT count(*) FROM heft.blobs"); }
};

TEST_F(SqlTablesTest, AreMadeOnce) {
  service_ = SharedServer().NewDatabase();
  const absl::Status none = Open(StoreMode::kWrite).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(none.ToString(), HasSubstr(service_));
  std::vector<pid_t> children;
  for (int c = 0; c < 3; ++c) {
    children.push_back(fork());
    if (children.back() == 0) _exit(Open(StoreMode::kCreate).ok() ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto session = *ConnectByService(service_);
  for (size_t i = 0; i < kLayouts; ++i) {
    const std::string name = TableText(LayoutAt(i), Dialect::kPostgres);
    EXPECT_TRUE(session->Execute("SELECT " + KeyNames(LayoutAt(i)) + " FROM " + name).ok()) << name;
  }
}

// The committed text is made from the description of the tables. To make it again, write what
// follows "CREATE TABLE heft.gallery" in postgres/schema.sql anew from this test's output.
TEST_F(SqlTablesTest, AreMadeFromOneDescription) {
  const std::string_view text = SqlSchemaText();
  const size_t at = text.find("CREATE TABLE heft.gallery (");
  ASSERT_NE(at, text.npos);
  EXPECT_EQ(text.substr(at), TablesText());
}

TEST_F(SqlTablesTest, OfAnotherVersionAreRefused) {
  ASSERT_TRUE(Sql("UPDATE heft.store SET version = 3"));
  const absl::Status other = Open(StoreMode::kRead).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(other.ToString(), HasSubstr("version 3"));
}

// A role that may create schemas creates this one first, with any contents.
TEST_F(SqlTablesTest, OfAnotherRoleAreRefused) {
  ASSERT_TRUE(Sql("CREATE ROLE mallory; ALTER SCHEMA heft OWNER TO mallory"));
  const absl::Status others = Open(StoreMode::kCreate).status();
  EXPECT_EQ(others.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(others.ToString(), HasSubstr("role \"mallory\""));
  ASSERT_TRUE(Sql("ALTER SCHEMA heft OWNER TO CURRENT_USER; DROP ROLE mallory"));
  EXPECT_TRUE(Open(StoreMode::kRead).ok());
}

TEST_F(SqlTablesTest, OpenedForReadingNothingIsWritten) {
  const auto reading = *Open(StoreMode::kRead);
  EXPECT_EQ(reading->Lock(kLong).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(reading->Read().ok());
}

// A blob exists while an entry names it, and once for all of these.
TEST_F(SqlTablesTest, BlobsAreSharedAndGoWithTheirLastUse) {
  const auto one = Long(100'000, 1), two = Long(100'000, 2);
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", one).ok());
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "b", one).ok());
  ASSERT_TRUE(Put(*store_, Table::kPendingFile, "a", one).ok());
  EXPECT_EQ(Blobs(), "1");
  EXPECT_EQ(Ask("SELECT uses FROM heft.blobs"), "3");
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", two).ok());
  EXPECT_EQ(Blobs(), "2");
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", two).ok());  // the same again
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "b", AsBytes("short")).ok());
  EXPECT_TRUE(store_->Check().ok()) << store_->Check();
  ASSERT_TRUE(Change(*store_, [](StoreWriter& w) {
                return w.Delete(Table::kPendingFile, AsBytes("a"));
              }).ok());
  EXPECT_EQ(Blobs(), "1");
  // Moved in one transaction, in parts: it stays.
  ASSERT_TRUE(Change(*store_, [&](StoreWriter& w) -> absl::Status {
                HEFT_RETURN_IF_ERROR(w.Delete(Table::kBlocks, AsBytes("a")));
                Keys(w, Table::kBlocks);
                HEFT_RETURN_IF_ERROR(w.Put(Table::kBlocks, AsBytes("c"), two));
                Keys(w, Table::kBlocks);
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(Blobs(), "1");
  EXPECT_EQ(Get(*store_, Table::kBlocks, "c"), Text(two));
  EXPECT_TRUE(store_->Check().ok()) << store_->Check();
}

// A run's templates are found by the index, however many the gallery has.
TEST_F(SqlTablesTest, ARunIsReadByItsOwnTemplates) {
  const std::string inserted =
      "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'template'";
  const std::string found =
      "SELECT idx_scan >= 10 FROM pg_stat_user_tables WHERE relname = 'template'";
  const std::string pages =
      "SELECT idx_blks_read + idx_blks_hit FROM pg_statio_user_tables WHERE relname = 'template'";
  ASSERT_TRUE(Sql("INSERT INTO heft.gallery (number) VALUES (7)"));
  ASSERT_TRUE(Sql("INSERT INTO heft.run SELECT 7, i, 0 FROM generate_series(0, 3124) i"));
  ASSERT_TRUE(
      Sql("INSERT INTO heft.template (gallery, position, state, clean) "
          "SELECT 7, i, 1, 0 FROM generate_series(0, 199999) i"));
  ASSERT_TRUE(Until(inserted, "200000"));  // a session that has ended counts
  for (const char* relation : {"heft.template", "heft.template_pkey"}) {
    ASSERT_TRUE(Sql(
        absl::StrCat("SELECT pg_stat_reset_single_table_counters('", relation, "'::regclass)")));
  }
  {
    const auto store = *Open(StoreMode::kRead);
    const auto reader = *store->Read();
    for (int64_t run = 0; run < 10; ++run) {
      const Cells key = {int64_t{7}, run * 300};
      ASSERT_TRUE(reader->Get(Table::kRoster, JoinKey(Table::kRoster, key)).ok());
    }
  }
  ASSERT_TRUE(Until(found, "t"));
  // The index has some 550. A scan from one end would read half of it for each run.
  EXPECT_LT(std::stoi(Ask(pages)), 500);
}

// Values around the limit, and many changes in one transaction.
TEST_F(SqlTablesTest, LargeTransactions) {
  ASSERT_TRUE(
      Change(*store_, [](StoreWriter& w) -> absl::Status {
        for (uint32_t i = 0; i < 60; ++i) {
          HEFT_RETURN_IF_ERROR(w.Put(Table::kBlocks, AsBytes(absl::StrCat(i)), Long(2'000'000, i)));
        }
        for (const size_t size : {kSqlBlob - 1, kSqlBlob, kSqlBlob + 1}) {
          HEFT_RETURN_IF_ERROR(w.Put(Table::kJournal, AsBytes(absl::StrCat(size)), Long(size, 1)));
        }
        EXPECT_EQ(Get(w, Table::kBlocks, "7"), Text(Long(2'000'000, 7)));
        return absl::OkStatus();
      }).ok());
  EXPECT_EQ(Blobs(), "62");
  for (const size_t size : {kSqlBlob - 1, kSqlBlob, kSqlBlob + 1}) {
    EXPECT_EQ(Get(*store_, Table::kJournal, absl::StrCat(size)), Text(Long(size, 1)));
  }
  EXPECT_EQ(Get(*store_, Table::kBlocks, "59"), Text(Long(2'000'000, 59)));
}

TEST_F(SqlTablesTest, TheCacheIsNeverAskedForWhatItIsNot) {
  const auto one = Long(100'000, 1), two = Long(100'000, 2);
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", one).ok());
  EXPECT_FALSE(FileExists(CachedFile(one))) << "it is filled when it is read";
  const auto before = *store_->Read();
  EXPECT_EQ(Get(*store_, Table::kBlocks, "a"), Text(one));
  EXPECT_TRUE(FileExists(CachedFile(one)));
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", two).ok());
  EXPECT_EQ(Get(*store_, Table::kBlocks, "a"), Text(two));
  EXPECT_EQ(Get(*before, Table::kBlocks, "a"), Text(one)) << "its state names another blob";
  // An uncommitted transaction leaves nothing.
  {
    const auto lock = *store_->Lock(kLong);
    const auto writer = *store_->Write(*lock);
    ASSERT_TRUE(writer->Put(Table::kBlocks, AsBytes("b"), Long(100'000, 3)).ok());
    Keys(*writer, Table::kBlocks);
    EXPECT_EQ(Get(*writer, Table::kBlocks, "b"), Text(Long(100'000, 3)));
  }
  EXPECT_FALSE(FileExists(CachedFile(Long(100'000, 3))));
}

TEST_F(SqlTablesTest, DamagedFilesOfTheCacheAreFetchedAnew) {
  const auto one = Long(100'000, 1);
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", one).ok());
  EXPECT_EQ(Get(*store_, Table::kBlocks, "a"), Text(one));
  std::vector<uint8_t> file = *ReadFile(CachedFile(one));
  file[50'000] ^= 4;
  ASSERT_TRUE(WriteFile(CachedFile(one), file).ok());
  cache_ = *BlobCache::Open(CacheFolder(), uint64_t{64} << 20);  // as another process
  EXPECT_EQ(Get(**Open(StoreMode::kRead), Table::kBlocks, "a"), Text(one));
  EXPECT_EQ(cache_->use().damaged, 1);
  EXPECT_EQ(cache_->use().kept, 1);
}

TEST_F(SqlTablesTest, DamageInTheDatabaseIsFound) {
  const auto one = Long(100'000, 1);
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", one).ok());
  const auto code = [&] {
    return (*store_->Read())->Get(Table::kBlocks, AsBytes("a")).status().code();
  };
  ASSERT_TRUE(Sql("UPDATE heft.blobs SET bytes = set_byte(bytes, 5, 255 - get_byte(bytes, 5))"));
  EXPECT_EQ(code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(Sql("UPDATE heft.blobs SET uses = 5"));
  EXPECT_EQ(store_->Check().code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(Sql("DELETE FROM heft.blobs"));
  EXPECT_EQ(code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(store_->Check().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(store_->Check().ToString(), HasSubstr("missing"));
}

TEST_F(SqlTablesTest, ScrubWaitsForReadersAndWipesTheCache) {
  const auto one = Long(100'000, 1), two = Long(100'000, 2);
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", one).ok());
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "b", two).ok());
  auto before = *store_->Read();
  EXPECT_EQ(Get(*before, Table::kBlocks, "a"), Text(one));
  EXPECT_EQ(Get(*before, Table::kBlocks, "b"), Text(two));
  std::filesystem::create_hard_link(CachedFile(one), folder_ / "second");
  ASSERT_TRUE(
      Change(*store_, [](StoreWriter& w) { return w.Delete(Table::kBlocks, AsBytes("a")); }).ok());
  const auto lock = *store_->Lock(kLong);
  EXPECT_EQ(store_->Scrub(*lock, absl::Milliseconds(50)).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(FileExists(CachedFile(one)));
  EXPECT_EQ(Get(*before, Table::kBlocks, "a"), Text(one));
  before = nullptr;
  const absl::Status scrubbed = store_->Scrub(*lock, kLong);
  EXPECT_TRUE(scrubbed.ok()) << scrubbed;
  EXPECT_FALSE(FileExists(CachedFile(one)));
  EXPECT_EQ(*ReadFile(folder_ / "second"), std::vector<uint8_t>(80 + one.size()));
  EXPECT_TRUE(FileExists(CachedFile(two)));
  EXPECT_EQ(Ask("SELECT sum(n_dead_tup) FROM pg_stat_all_tables WHERE schemaname = 'heft'"), "0");
}

// A role that may read and write, but owns nothing.
TEST_F(SqlTablesTest, ScrubSaysWhereItMayNot) {
  ASSERT_TRUE(Sql(absl::StrCat("CREATE ROLE user_of_", service_,
                               " LOGIN; GRANT USAGE ON SCHEMA heft TO user_of_", service_,
                               "; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN "
                               "SCHEMA heft TO user_of_",
                               service_)));
  const auto session = *ConnectByService(service_);
  ASSERT_TRUE(session->Run("SET ROLE user_of_" + service_).ok());
  bool given = false;
  const auto store = *OpenSqlStore(
      [&]() -> absl::StatusOr<std::unique_ptr<SqlSession>> {
        HEFT_ASSIGN_OR_RETURN(auto made, ConnectByService(service_));
        HEFT_RETURN_IF_ERROR(made->Run("SET ROLE user_of_" + service_));
        given = true;
        return made;
      },
      StoreMode::kWrite, {});
  EXPECT_TRUE(given);
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("1")).ok());
  const auto lock = *store->Lock(kLong);
  EXPECT_EQ(store->Scrub(*lock, kLong).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(session->Run("DROP TABLE heft.identity").code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(SqlTablesTest, AreCopiedIntoAFolder) {
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "a", Long(300'000, 1)).ok());
  ASSERT_TRUE(Put(*store_, Table::kNames, "b", AsBytes("name")).ok());
  const absl::Status copied =
      store_->Copy(folder_ / "copy", [](uint64_t, uint64_t) { return true; });
  ASSERT_TRUE(copied.ok()) << copied;
  const auto copy = *OpenStore(folder_ / "copy", StoreMode::kRead);
  EXPECT_EQ(Get(*copy, Table::kBlocks, "a"), Text(Long(300'000, 1)));
  EXPECT_EQ(Get(*copy, Table::kNames, "b"), "name");
}

TEST_F(SqlTablesTest, SessionsSayWhatIsWrong) {
  const auto session = *ConnectByService(service_);
  EXPECT_EQ(session->Execute("SELECT * FROM heft.nothing").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(session->Execute("SELEC").status().code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(session->Lost());
  ASSERT_TRUE(session->Begin(SqlSession::Mode::kRead).ok());
  const absl::Status read_only = session->Execute("DELETE FROM heft.identity").status();
  EXPECT_EQ(read_only.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(read_only.ToString(), HasSubstr("standby"));
  EXPECT_EQ(session->Commit().code(), absl::StatusCode::kAborted);
  session->Rollback();
  std::thread interrupt([&] {
    EXPECT_TRUE(Until("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'", "1"));
    session->Interrupt();
  });
  EXPECT_EQ(session->Execute("SELECT pg_sleep(1000)").status().code(),
            absl::StatusCode::kCancelled);
  interrupt.join();
  const absl::Status nowhere = ConnectByService("no such service").status();
  EXPECT_EQ(nowhere.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(nowhere.ToString(), HasSubstr("pg_service.conf"));
  // Commits wait for the disk even if the database's default is not to.
  ASSERT_TRUE(Sql(absl::StrCat("ALTER DATABASE ", service_, " SET synchronous_commit = off")));
  const auto durable = *ConnectByService(service_);
  const auto rows = durable->Execute("SELECT current_setting('synchronous_commit')");
  EXPECT_EQ(Text(*rows->at(0, 0)), "on");
}

}  // namespace
}  // namespace heft
