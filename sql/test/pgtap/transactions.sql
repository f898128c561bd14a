-- SPDX-License-Identifier: Apache-2.0
-- Calls are part of the caller's transaction: all or nothing.
BEGIN;
SELECT plan(13);

CREATE FUNCTION pg_temp.pair(text) RETURNS heft.heft_sample[] LANGUAGE sql
  AS $$SELECT ARRAY(SELECT bytes::heft.heft_sample FROM world.files
                    WHERE name IN ($1 || '-face', $1 || '-voice') ORDER BY name)$$;
CREATE FUNCTION pg_temp.probe(text) RETURNS heft.heft_probe[] LANGUAGE sql
  AS $$SELECT ARRAY(SELECT bytes::heft.heft_probe FROM world.files
                    WHERE name IN ($1 || '-face', $1 || '-voice') ORDER BY name)$$;
CREATE FUNCTION pg_temp.pending() RETURNS bigint LANGUAGE sql
  AS $$SELECT pending FROM heft.heft_stats('main')$$;

SELECT lives_ok($$SELECT heft.heft_identify('main', pg_temp.probe('identification-5'))$$, 'it answers');
SELECT is((SELECT count(DISTINCT length(r)) FROM (SELECT heft.heft_identify('main',
  pg_temp.probe('identification-5')) r FROM generate_series(1, 3)) all_of_them), 1::bigint,
  'more than once a query');

SAVEPOINT before;
SELECT is((SELECT brought FROM heft.heft_enrol('main', pg_temp.pair('enrolment-20'))), 1::bigint, 'one comes');
SELECT is(pg_temp.pending(), 1::bigint, 'and is seen to wait');
SELECT throws_ok($$SELECT heft.heft_enrol('main', pg_temp.pair('enrolment-20'))$$, '23505', NULL,
  'the same is not taken twice');
SELECT is(pg_temp.pending(), 1::bigint, 'an error inside has changed nothing');
SELECT throws_ok($$SELECT heft.heft_identify('main', pg_temp.probe('identification-5'))$$, '25001', NULL,
  'of a state that nobody else sees, nothing is signed');
ROLLBACK TO before;
SELECT is(pg_temp.pending(), 0::bigint, 'rolled back, it is gone');

-- Inside a block with a handler, the block's changes are undone; earlier ones stay.
DO $$
BEGIN
  PERFORM heft.heft_enrol('main', pg_temp.pair('enrolment-20'));
  BEGIN
    PERFORM heft.heft_enrol('main', pg_temp.pair('enrolment-24'));
    RAISE EXCEPTION 'no';
  EXCEPTION WHEN raise_exception THEN
    NULL;
  END;
  BEGIN
    PERFORM heft.heft_enrol('main', pg_temp.pair('enrolment-20'));
  EXCEPTION WHEN unique_violation THEN
    NULL;
  END;
END $$;
SELECT is(pg_temp.pending(), 1::bigint, 'one of two');
SELECT throws_ok($$SELECT heft.heft_enrol(NULL, pg_temp.pair('enrolment-24'))$$, '22004', NULL, 'no gallery');
SELECT throws_ok($$SELECT heft.heft_verify('main', NULL, pg_temp.pair('enrolment-24'))$$, '22004', NULL,
  'no identity');
SELECT throws_ok($$SELECT heft.heft_enrol('main', '{}')$$, '22023', NULL, 'no samples');
SET TRANSACTION READ ONLY;
SELECT throws_ok($$SELECT heft.heft_enrol('main', pg_temp.pair('enrolment-24'))$$, '25006', NULL,
  'a transaction that only reads');

SELECT * FROM finish();
ROLLBACK;
