-- SPDX-License-Identifier: Apache-2.0
-- The store's tables (store/store.h) in PostgreSQL, schema `heft`, version 2. The store on libpq
-- runs this text in a database without the tables; the extension's script begins with it.
--
-- From heft.gallery on, this is the text of SchemaText (store/layout_sql.h), from the tables'
-- description in store/layout.cc; `sql_test` compares them. Every row but those of heft.store and
-- heft.commits belongs to a gallery: DELETE FROM heft.gallery WHERE name = 'visitors', or WHERE
-- tenant = 'clinic', deletes all of it. Bytes are ciphertexts and hashes, which do not compress:
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

INSERT INTO heft.store (version, id, generation) VALUES (2, gen_random_uuid(), 0);

CREATE TABLE heft.gallery (
  number bigint PRIMARY KEY,
  name text COLLATE "C" UNIQUE,
  checksum bigint,
  tenant name
);
COMMENT ON TABLE heft.gallery IS 'the galleries; a row''s deletion deletes all of its gallery';
COMMENT ON COLUMN heft.gallery.name IS 'its name; NULL: it is not complete, or has lost it';
COMMENT ON COLUMN heft.gallery.number IS 'as all other tables name it';
COMMENT ON COLUMN heft.gallery.checksum IS 'of the name''s record';
COMMENT ON COLUMN heft.gallery.tenant IS 'a role: its members see the gallery''s rows; NULL: only the owner of the tables does';
ALTER TABLE heft.gallery ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.gallery
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM pg_catalog.pg_roles r
    WHERE r.rolname = tenant AND pg_catalog.pg_has_role(r.oid, 'MEMBER')));

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
ALTER TABLE heft.blobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.blobs
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = blobs.gallery));

CREATE TABLE heft.gallery_state (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  params_id bytea NOT NULL,
  key_id bytea NOT NULL,
  model_id bytea NOT NULL,
  gamma bigint NOT NULL,
  id bytea NOT NULL,
  generation bigint NOT NULL,
  root bytea NOT NULL,
  places bigint NOT NULL,
  live bigint NOT NULL,
  leaving bigint NOT NULL,
  block_places bigint NOT NULL,
  epoch bigint NOT NULL,
  next_entry bigint NOT NULL,
  folded bigint NOT NULL,
  retired bigint NOT NULL,
  entry_bytes bigint NOT NULL,
  started bigint NOT NULL,
  key_since bigint NOT NULL,
  verified bigint NOT NULL,
  intact bigint NOT NULL,
  retention_seconds bigint NOT NULL,
  retention_bytes bigint NOT NULL,
  revoked text NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (gallery)
);
COMMENT ON TABLE heft.gallery_state IS 'facts about a whole gallery; times in seconds since 1970';
COMMENT ON COLUMN heft.gallery_state.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.gallery_state.params_id IS 'of the CKKS parameters';
COMMENT ON COLUMN heft.gallery_state.key_id IS 'of the key owner''s key';
COMMENT ON COLUMN heft.gallery_state.model_id IS 'of the model';
COMMENT ON COLUMN heft.gallery_state.gamma IS 'slots of a template';
COMMENT ON COLUMN heft.gallery_state.id IS 'the gallery''s id';
COMMENT ON COLUMN heft.gallery_state.generation IS 'number of changes';
COMMENT ON COLUMN heft.gallery_state.root IS 'Merkle root of that generation';
COMMENT ON COLUMN heft.gallery_state.places IS 'positions that are or were filled';
COMMENT ON COLUMN heft.gallery_state.live IS 'templates that are matched';
COMMENT ON COLUMN heft.gallery_state.leaving IS 'templates that are not matched, but still in a block';
COMMENT ON COLUMN heft.gallery_state.block_places IS 'positions of a block';
COMMENT ON COLUMN heft.gallery_state.epoch IS 'grows with each new key';
COMMENT ON COLUMN heft.gallery_state.next_entry IS 'of the journal';
COMMENT ON COLUMN heft.gallery_state.folded IS 'last entry that is in its block';
COMMENT ON COLUMN heft.gallery_state.retired IS 'last entry that was deleted';
COMMENT ON COLUMN heft.gallery_state.entry_bytes IS 'size of the journal''s entries';
COMMENT ON COLUMN heft.gallery_state.started IS 'time of the first change';
COMMENT ON COLUMN heft.gallery_state.key_since IS 'time of the first template under this key';
COMMENT ON COLUMN heft.gallery_state.verified IS 'time of the last check of all blocks; 0: never';
COMMENT ON COLUMN heft.gallery_state.intact IS '1 if it found no damage';
COMMENT ON COLUMN heft.gallery_state.retention_seconds IS 'how long entries stay in the journal';
COMMENT ON COLUMN heft.gallery_state.retention_bytes IS 'how much of them stays';
COMMENT ON COLUMN heft.gallery_state.revoked IS 'revoked keys, as a JSON list';
COMMENT ON COLUMN heft.gallery_state.checksum IS 'XXH3 of the record, which the columns give back';
ALTER TABLE heft.gallery_state ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.gallery_state
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = gallery_state.gallery));

CREATE TABLE heft.block (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  epoch bigint NOT NULL,
  block bigint NOT NULL,
  value bytea,
  hash bytea,
  length bigint,
  CHECK ((value IS NULL) = (hash IS NOT NULL) AND (hash IS NULL) = (length IS NULL)),
  PRIMARY KEY (gallery, epoch, block)
);
ALTER TABLE heft.block ALTER COLUMN value SET STORAGE EXTERNAL;
COMMENT ON TABLE heft.block IS 'sums of encrypted templates';
COMMENT ON COLUMN heft.block.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.block.epoch IS 'of its key';
COMMENT ON COLUMN heft.block.block IS 'its number';
COMMENT ON COLUMN heft.block.value IS 'the bytes; NULL: they are long';
COMMENT ON COLUMN heft.block.hash IS 'of a long value in heft.blobs';
COMMENT ON COLUMN heft.block.length IS 'its bytes';
ALTER TABLE heft.block ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.block
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = block.gallery));

CREATE TABLE heft.block_state (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  block bigint NOT NULL,
  generation bigint NOT NULL,
  checkpoint bytea NOT NULL,
  pending bytea NOT NULL,
  roster bytea NOT NULL,
  leaf bytea NOT NULL,
  live bigint NOT NULL,
  leaving bigint NOT NULL,
  added_error double precision NOT NULL,
  least_clean double precision NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (gallery, block)
);
COMMENT ON TABLE heft.block_state IS 'the small facts about a block';
COMMENT ON COLUMN heft.block_state.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.block_state.block IS 'its number';
COMMENT ON COLUMN heft.block_state.generation IS 'in which the block was written';
COMMENT ON COLUMN heft.block_state.checkpoint IS 'digest of the block; zeros: there is none';
COMMENT ON COLUMN heft.block_state.pending IS 'chain of digests of entries that are not in it yet';
COMMENT ON COLUMN heft.block_state.roster IS 'digest of its runs of templates';
COMMENT ON COLUMN heft.block_state.leaf IS 'leaf of the Merkle tree';
COMMENT ON COLUMN heft.block_state.live IS 'templates that are matched';
COMMENT ON COLUMN heft.block_state.leaving IS 'templates that are no longer matched';
COMMENT ON COLUMN heft.block_state.added_error IS 'variance that changes have added';
COMMENT ON COLUMN heft.block_state.least_clean IS 'the least clean added error of its positions';
COMMENT ON COLUMN heft.block_state.checksum IS 'XXH3 of the record, which the columns give back';
ALTER TABLE heft.block_state ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.block_state
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = block_state.gallery));

CREATE TABLE heft.run (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  run bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (gallery, run)
);
COMMENT ON TABLE heft.run IS '64 positions, whose templates are in the table template';
COMMENT ON COLUMN heft.run.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.run.run IS 'positions 64 run to 64 run + 63';
COMMENT ON COLUMN heft.run.checksum IS 'XXH3 of the record, which the columns give back';
ALTER TABLE heft.run ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.run
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = run.gallery));

CREATE TABLE heft.identity (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  name_hash bytea NOT NULL,
  pending bigint NOT NULL,
  positions text NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (gallery, name_hash)
);
COMMENT ON TABLE heft.identity IS 'where the templates of a person are';
COMMENT ON COLUMN heft.identity.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.identity.name_hash IS 'hash of gallery and name';
COMMENT ON COLUMN heft.identity.pending IS 'number of pending templates';
COMMENT ON COLUMN heft.identity.positions IS 'positions of templates, as a JSON list';
COMMENT ON COLUMN heft.identity.checksum IS 'XXH3 of the record, which the columns give back';
ALTER TABLE heft.identity ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.identity
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = identity.gallery));

CREATE TABLE heft.sample (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  sample bytea NOT NULL,
  position bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (gallery, sample)
);
COMMENT ON TABLE heft.sample IS 'encrypted samples that were enrolled, to recognise them';
COMMENT ON COLUMN heft.sample.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.sample.sample IS 'digest of the sample';
COMMENT ON COLUMN heft.sample.position IS 'of the template with it; -1: it is pending';
COMMENT ON COLUMN heft.sample.checksum IS 'XXH3 of the record, which the columns give back';
ALTER TABLE heft.sample ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.sample
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = sample.gallery));

CREATE TABLE heft.journal (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  entry bigint NOT NULL,
  value bytea,
  hash bytea,
  length bigint,
  CHECK ((value IS NULL) = (hash IS NOT NULL) AND (hash IS NULL) = (length IS NULL)),
  PRIMARY KEY (gallery, entry)
);
ALTER TABLE heft.journal ALTER COLUMN value SET STORAGE EXTERNAL;
COMMENT ON TABLE heft.journal IS 'encrypted templates that can be taken back exactly';
COMMENT ON COLUMN heft.journal.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.journal.entry IS 'its number';
COMMENT ON COLUMN heft.journal.value IS 'the bytes; NULL: they are long';
COMMENT ON COLUMN heft.journal.hash IS 'of a long value in heft.blobs';
COMMENT ON COLUMN heft.journal.length IS 'its bytes';
ALTER TABLE heft.journal ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.journal
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = journal.gallery));

CREATE TABLE heft.fold (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  last_entry bigint NOT NULL,
  first_entry bigint NOT NULL,
  time bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (gallery, last_entry)
);
COMMENT ON TABLE heft.fold IS 'entries of the journal that joined their blocks together';
COMMENT ON COLUMN heft.fold.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.fold.last_entry IS 'the last one';
COMMENT ON COLUMN heft.fold.first_entry IS 'the first one';
COMMENT ON COLUMN heft.fold.time IS 'seconds since 1970';
COMMENT ON COLUMN heft.fold.checksum IS 'XXH3 of the record, which the columns give back';
ALTER TABLE heft.fold ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.fold
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = fold.gallery));

CREATE TABLE heft.pending_file (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  enrolment bytea NOT NULL,
  value bytea,
  hash bytea,
  length bigint,
  CHECK ((value IS NULL) = (hash IS NOT NULL) AND (hash IS NULL) = (length IS NULL)),
  PRIMARY KEY (gallery, enrolment)
);
ALTER TABLE heft.pending_file ALTER COLUMN value SET STORAGE EXTERNAL;
COMMENT ON TABLE heft.pending_file IS 'pending enrolments as they were sent (QENR)';
COMMENT ON COLUMN heft.pending_file.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.pending_file.enrolment IS 'hash of the file';
COMMENT ON COLUMN heft.pending_file.value IS 'the bytes; NULL: they are long';
COMMENT ON COLUMN heft.pending_file.hash IS 'of a long value in heft.blobs';
COMMENT ON COLUMN heft.pending_file.length IS 'its bytes';
ALTER TABLE heft.pending_file ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.pending_file
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = pending_file.gallery));

CREATE TABLE heft.pending (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  enrolment bytea NOT NULL,
  client bytea NOT NULL,
  bytes bigint NOT NULL,
  identities text NOT NULL,
  samples text NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (gallery, enrolment)
);
COMMENT ON TABLE heft.pending IS 'pending enrolments, which the key owner has not approved yet';
COMMENT ON COLUMN heft.pending.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.pending.enrolment IS 'hash of the file';
COMMENT ON COLUMN heft.pending.client IS 'key of the client; zeros: not signed';
COMMENT ON COLUMN heft.pending.bytes IS 'size of the file';
COMMENT ON COLUMN heft.pending.identities IS 'one for each template, as a JSON list';
COMMENT ON COLUMN heft.pending.samples IS 'digests of samples, as a JSON list';
COMMENT ON COLUMN heft.pending.checksum IS 'XXH3 of the record, which the columns give back';
ALTER TABLE heft.pending ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.pending
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = pending.gallery));

CREATE TABLE heft.free_position (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  position bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (gallery, position)
);
COMMENT ON TABLE heft.free_position IS 'positions that can be filled again';
COMMENT ON COLUMN heft.free_position.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.free_position.position IS 'its number';
COMMENT ON COLUMN heft.free_position.checksum IS 'XXH3 of the record, which the columns give back';
ALTER TABLE heft.free_position ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.free_position
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = free_position.gallery));

CREATE TABLE heft.renewal (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  id bytea NOT NULL,
  value bytea,
  hash bytea,
  length bigint,
  CHECK ((value IS NULL) = (hash IS NOT NULL) AND (hash IS NULL) = (length IS NULL)),
  PRIMARY KEY (gallery, id)
);
ALTER TABLE heft.renewal ALTER COLUMN value SET STORAGE EXTERNAL;
COMMENT ON TABLE heft.renewal IS 'renewals of blocks that the key owner was asked for';
COMMENT ON COLUMN heft.renewal.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.renewal.id IS 'of the request';
COMMENT ON COLUMN heft.renewal.value IS 'the bytes; NULL: they are long';
COMMENT ON COLUMN heft.renewal.hash IS 'of a long value in heft.blobs';
COMMENT ON COLUMN heft.renewal.length IS 'its bytes';
ALTER TABLE heft.renewal ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.renewal
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = renewal.gallery));

CREATE TABLE heft.receipt (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  due bigint NOT NULL,
  generation bigint NOT NULL,
  version bigint NOT NULL,
  of_generation bigint NOT NULL,
  removed bigint NOT NULL,
  erased bigint NOT NULL,
  people text NOT NULL,
  receipt bytea NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (gallery, due, generation)
);
COMMENT ON TABLE heft.receipt IS 'people who were removed, and the signed receipts; times in seconds since 1970';
COMMENT ON COLUMN heft.receipt.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.receipt.due IS '1 until it is signed, then 0';
COMMENT ON COLUMN heft.receipt.generation IS 'the first generation without them';
COMMENT ON COLUMN heft.receipt.version IS 'of the record';
COMMENT ON COLUMN heft.receipt.of_generation IS 'as above';
COMMENT ON COLUMN heft.receipt.removed IS 'time of the removal';
COMMENT ON COLUMN heft.receipt.erased IS 'time when nothing was left; 0: not yet';
COMMENT ON COLUMN heft.receipt.people IS 'JSON list of person, number of templates and, if it differs, time of removal';
COMMENT ON COLUMN heft.receipt.receipt IS 'the signed receipt (RCPT)';
COMMENT ON COLUMN heft.receipt.checksum IS 'XXH3 of the record, which the columns give back';
ALTER TABLE heft.receipt ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.receipt
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = receipt.gallery));

CREATE TABLE heft.once (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  request_key bytea NOT NULL,
  until bigint NOT NULL,
  request bytea NOT NULL,
  answer bytea NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (gallery, request_key)
);
COMMENT ON TABLE heft.once IS 'idempotency keys of changes, with their answers';
COMMENT ON COLUMN heft.once.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.once.request_key IS 'digest of the idempotency key';
COMMENT ON COLUMN heft.once.until IS 'seconds since 1970';
COMMENT ON COLUMN heft.once.request IS 'digest of the request';
COMMENT ON COLUMN heft.once.answer IS 'what was answered';
COMMENT ON COLUMN heft.once.checksum IS 'XXH3 of the record, which the columns give back';
ALTER TABLE heft.once ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.once
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = once.gallery));

CREATE TABLE heft.template (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  position bigint NOT NULL,
  state bigint NOT NULL,
  clean double precision NOT NULL,
  person bytea,
  identity text,
  sample bytea,
  parts text,
  contribution bytea,
  entry bigint,
  generation bigint,
  enrolled bigint,
  expires bigint,
  metadata text,
  left_at bigint,
  name_hash bytea,
  PRIMARY KEY (gallery, position)
);
COMMENT ON TABLE heft.template IS 'the template at each position; a position without a row never had one; times in seconds since 1970';
COMMENT ON COLUMN heft.template.gallery IS 'the gallery''s number';
COMMENT ON COLUMN heft.template.position IS 'in the gallery';
COMMENT ON COLUMN heft.template.state IS '0: free, 1: matched, 2: leaving, which is not matched';
COMMENT ON COLUMN heft.template.clean IS 'clean added error of the position';
COMMENT ON COLUMN heft.template.person IS 'random id of the person';
COMMENT ON COLUMN heft.template.identity IS 'name of the person';
COMMENT ON COLUMN heft.template.sample IS 'digest of the sample';
COMMENT ON COLUMN heft.template.parts IS 'of a mean: digests of its samples, as a JSON list';
COMMENT ON COLUMN heft.template.contribution IS 'digest of the template; zeros: enrolled in bulk';
COMMENT ON COLUMN heft.template.entry IS 'in the journal; 0: it has none any more';
COMMENT ON COLUMN heft.template.generation IS 'in which it was enrolled';
COMMENT ON COLUMN heft.template.enrolled IS 'time of enrolment';
COMMENT ON COLUMN heft.template.expires IS 'time of its end; 0: none';
COMMENT ON COLUMN heft.template.metadata IS 'JSON list of keys and values';
COMMENT ON COLUMN heft.template.left_at IS 'leaving: since when; 0: unknown';
COMMENT ON COLUMN heft.template.name_hash IS 'leaving: the identity''s hash; zeros: unknown';
ALTER TABLE heft.template ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.template
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = template.gallery));

CREATE TABLE heft.other (
  kind bigint NOT NULL,
  key bytea NOT NULL,
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  value bytea,
  hash bytea,
  length bigint,
  CHECK ((value IS NULL) = (hash IS NOT NULL) AND (hash IS NULL) = (length IS NULL)),
  PRIMARY KEY (kind, key)
);
ALTER TABLE heft.other ALTER COLUMN value SET STORAGE EXTERNAL;
COMMENT ON TABLE heft.other IS 'entries that do not fit the columns of their table: second copies, kinds without columns, and damaged ones';
COMMENT ON COLUMN heft.other.kind IS 'the table: a number of store/store.h';
COMMENT ON COLUMN heft.other.key IS 'the entry''s key';
COMMENT ON COLUMN heft.other.gallery IS 'the gallery''s number; 0: none';
COMMENT ON COLUMN heft.other.value IS 'the bytes; NULL: they are long';
COMMENT ON COLUMN heft.other.hash IS 'of a long value in heft.blobs';
COMMENT ON COLUMN heft.other.length IS 'its bytes';
ALTER TABLE heft.other ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.other
  USING ((SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT')) OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = other.gallery));
