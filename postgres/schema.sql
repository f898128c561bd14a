-- SPDX-License-Identifier: Apache-2.0
-- The store's tables (store/store.h) in PostgreSQL, schema `heft`, version 1. The store on libpq
-- runs this text in a database without the tables; the extension's script begins with it.
--
-- Each table of the store is a table here: it has an entry's value, if that is short, or the hash
-- of a blob. Keys are compared as bytes. Values are ciphertexts and hashes, which do not compress:
-- EXTERNAL.

CREATE SCHEMA heft;

-- One row: facts common to all of the store. A writer locks this row.
CREATE TABLE heft.store (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version bigint NOT NULL,      -- of this schema
  id uuid NOT NULL,             -- of this store, wherever it is restored
  generation bigint NOT NULL    -- committed transactions
);

-- Recent commits. If a connection is lost in a commit, the writer looks up its result here.
CREATE TABLE heft.commits (
  token uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  made timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX commits_made ON heft.commits (made);

-- Long values, by the 32 bytes of their BLAKE2b hash. They never change, so a cache is never stale.
CREATE TABLE heft.blobs (
  hash bytea PRIMARY KEY CHECK (length(hash) = 32),
  uses bigint NOT NULL CHECK (uses >= 0),  -- entries that name it; none: it goes with the commit
  bytes bytea NOT NULL
);
ALTER TABLE heft.blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
-- Room in a page for a row's next version: `uses` changes in place.
ALTER TABLE heft.blobs SET (fillfactor = 70);

CREATE TABLE heft.catalog (
  key bytea PRIMARY KEY CHECK (length(key) BETWEEN 1 AND 255),
  value bytea,                  -- or
  hash bytea,                   -- of a blob, and
  length bigint,                -- its bytes
  CHECK ((value IS NULL) = (hash IS NOT NULL) AND (hash IS NULL) = (length IS NULL))
);
ALTER TABLE heft.catalog ALTER COLUMN value SET STORAGE EXTERNAL;

CREATE TABLE heft.head (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.blocks (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.block_info (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.roster (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.names (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.samples (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.journal (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.folds (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.quarantine (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.waiting (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.free (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.exchanges (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.receipts (LIKE heft.catalog INCLUDING ALL);
CREATE TABLE heft.requests (LIKE heft.catalog INCLUDING ALL);

INSERT INTO heft.store (version, id, generation) VALUES (1, gen_random_uuid(), 0);
