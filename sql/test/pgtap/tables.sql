-- SPDX-License-Identifier: Apache-2.0
-- What an administrator sees in the store's tables, and what a tenant does who may read them.
-- Galleries: main, of tenant alice, with two people; others, of tenant bob, with a pending enrolment.
BEGIN;
SELECT plan(13);

CREATE VIEW rows_of AS SELECT relation FROM heft.heft_row_tables() UNION ALL SELECT 'blobs';
-- The rows of a table that belong to a gallery.
CREATE FUNCTION pg_temp.rows_in(relation text, gallery bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  found bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM heft.%I t WHERE t.gallery = $1', relation) INTO found USING gallery;
  RETURN found;
END $$;

SELECT is(count(*), 17::bigint, 'all tables but those about the store belong to galleries') FROM rows_of;
SELECT is(string_agg(relation, ' '), NULL, 'they have row-level security')
FROM rows_of JOIN pg_class c ON c.oid = ('heft.' || relation)::regclass WHERE NOT c.relrowsecurity;
SELECT is(string_agg(relation || '.' || a.attname, ' '), NULL, 'each column has a comment')
FROM rows_of JOIN pg_attribute a ON a.attrelid = ('heft.' || relation)::regclass
WHERE relation <> 'blobs' AND a.attnum > 0 AND NOT a.attisdropped AND col_description(a.attrelid, a.attnum) IS NULL;
SELECT results_eq('SELECT name COLLATE "default", tenant::text COLLATE "default" FROM heft.gallery WHERE name IS NOT NULL ORDER BY name',
  $$VALUES ('main', 'alice'), ('others', 'bob')$$, 'galleries have names and tenants');
SELECT is(count(*), 2::bigint, 'people have names')
FROM heft.template t JOIN heft.gallery g ON g.number = t.gallery
WHERE g.name = 'main' AND t.state = 1 AND t.identity <> '' AND t.enrolled > 1500000000;
SELECT is(jsonb_array_length(identities::jsonb), 1, 'so have the pending') FROM heft.pending;
SELECT is(count(*), 1::bigint, 'bytes are only second copies and digests of runs, one for each block')
FROM heft.other WHERE kind = 3 AND get_byte(key, 0) <> 255;

SELECT number AS mine FROM heft.gallery WHERE name = 'main' \gset
SELECT number AS theirs FROM heft.gallery WHERE name = 'others' \gset
GRANT SELECT ON heft.gallery, heft.template, heft.pending, heft.other, heft.blobs TO alice;
SET ROLE alice;
SELECT results_eq('SELECT name COLLATE "default" FROM heft.gallery', ARRAY['main'], 'a tenant sees its gallery');
SELECT is(count(*), 2::bigint, 'and its templates') FROM heft.template WHERE state = 1;
SELECT is_empty('SELECT 1 FROM heft.pending', 'but none of the other tenant''s pending ones');
SELECT ok(bool_and(gallery = :mine), 'nor other bytes')
FROM (SELECT gallery FROM heft.other UNION ALL SELECT gallery FROM heft.blobs) seen;
RESET ROLE;

SELECT ok(sum(pg_temp.rows_in(relation, :theirs)) > 4, 'the other gallery has rows') FROM rows_of;
DELETE FROM heft.gallery WHERE tenant = 'bob';
SELECT is(sum(pg_temp.rows_in(relation, :theirs)), 0::numeric, 'one statement removes a tenant') FROM rows_of;

SELECT * FROM finish();
ROLLBACK;
