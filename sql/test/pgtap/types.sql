-- SPDX-License-Identifier: Apache-2.0
-- The values that the types accept and refuse.
BEGIN;
SELECT plan(28);

CREATE FUNCTION pg_temp.f(text) RETURNS bytea LANGUAGE sql
  AS 'SELECT bytes FROM world.files WHERE name = $1';
-- A file with one byte changed, and one without its end.
CREATE FUNCTION pg_temp.flipped(text, int) RETURNS bytea LANGUAGE sql
  AS 'SELECT set_byte(pg_temp.f($1), $2, 255 - get_byte(pg_temp.f($1), $2))';
CREATE FUNCTION pg_temp.cut(text, int) RETURNS bytea LANGUAGE sql
  AS 'SELECT substr(pg_temp.f($1), 1, $2)';

SELECT lives_ok($$SELECT pg_temp.f('enrolment-0-face')::heft.heft_sample$$, 'a sample');
SELECT lives_ok($$SELECT pg_temp.f('identification-5-face')::heft.heft_probe$$, 'a probe');
SELECT lives_ok($$SELECT pg_temp.f('fused')::heft.heft_template$$, 'a template of a client');
SELECT lives_ok($$SELECT pg_temp.f('model')::heft.heft_model$$, 'a model');
SELECT lives_ok($$SELECT pg_temp.f('evaluation')::heft.heft_keys$$, 'keys');
SELECT lives_ok($$SELECT pg_temp.f('reply')::heft.heft_reply$$, 'a signed reply');
SELECT ok(NULL::heft.heft_sample IS NULL, 'NULL is nobody''s sample');

SELECT throws_ok($$SELECT ''::bytea::heft.heft_sample$$, '22P03', NULL, 'nothing at all');
SELECT throws_ok($$SELECT '\x00'::bytea::heft.heft_reply$$, '22P03', NULL, 'a byte');
SELECT throws_ok($$SELECT repeat('HEFT', 1000)::bytea::heft.heft_probe$$, '22P03', NULL, 'magic alone');
SELECT throws_ok($$SELECT pg_temp.f('identification-5-face')::heft.heft_sample$$, '22P03', NULL,
  'a probe is no sample to be enrolled');
SELECT throws_ok($$SELECT pg_temp.f('enrolment-0-face')::heft.heft_probe$$, '22P03', NULL,
  'a sample to be enrolled is no probe');
SELECT throws_ok($$SELECT pg_temp.f('enrolment-0-face')::heft.heft_template$$, '22P03', NULL,
  'one modality is no template');
SELECT throws_ok($$SELECT pg_temp.f('model')::heft.heft_keys$$, '22P03', NULL, 'a model is no keys');
SELECT throws_ok($$SELECT pg_temp.f('enrolment-0-face')::heft.heft_reply$$, '22P03', NULL,
  'a sample is no reply');
SELECT throws_ok($$SELECT pg_temp.f('reply')::heft.heft_admission$$, '22P03', NULL,
  'a reply is no admission');
SELECT throws_ok($$SELECT pg_temp.flipped('enrolment-0-face', 1000)::heft.heft_sample$$, '22P03', NULL,
  'damage inside');
SELECT throws_ok($$SELECT pg_temp.flipped('enrolment-0-face', 9)::heft.heft_sample$$, '22P03', NULL,
  'damage in the kind');
SELECT throws_ok($$SELECT pg_temp.flipped('reply', 40)::heft.heft_reply$$, '22P03', NULL,
  'damage in a signature''s head');
SELECT throws_ok($$SELECT pg_temp.cut('enrolment-0-face', 100)::heft.heft_sample$$, '22P03', NULL,
  'cut short');
SELECT throws_ok($$SELECT (pg_temp.f('enrolment-0-face') || '\x00')::heft.heft_sample$$, '22P03', NULL,
  'a byte too many');
SELECT throws_ok($$SELECT heft.heft_enrol('main', ARRAY[pg_temp.f('model')])$$, '22P03', NULL,
  'an argument is read before anything is done');
SELECT throws_ok($$SELECT heft.heft_enrol('main', ARRAY[NULL]::heft.heft_sample[])$$, '22004', NULL,
  'NULL among samples');
-- Each gallery answers a request once.
SELECT throws_ok($$SELECT heft.heft_identify_many('{main, main}', ARRAY[pg_temp.f('identification-5-face'),
  pg_temp.f('identification-5-voice')])$$, '22023', 'galleries: "main" is listed twice', 'a gallery twice');
SELECT throws_ok($$SELECT heft.heft_identify_many(array_fill('main'::text, ARRAY[1000]) || (SELECT
  array_agg('main' || g) FROM generate_series(1, 1000) g), '{}')$$, '22023', NULL, 'a thousand times');
SELECT throws_ok($$SELECT heft.heft_identify('main', ARRAY[pg_temp.f('identification-5-face'),
  pg_temp.f('identification-5-voice')], array_fill('a=b'::text, ARRAY[17]))$$, '22023', NULL, 'too many conditions');
-- A caller's input is not written into the log at full length.
CREATE FUNCTION pg_temp.said(text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM heft.heft_verify('main', $1, ARRAY[pg_temp.f('enrolment-0-face'), pg_temp.f('enrolment-0-voice')]);
  PERFORM heft.heft_identify('main', ARRAY[pg_temp.f('identification-5-face')], ARRAY[$1]);
EXCEPTION WHEN OTHERS THEN
  RETURN SQLERRM;
END $$;
SELECT cmp_ok(max(length(pg_temp.said(repeat(c, 100000)))), '<=', 2000, 'errors are short')
FROM unnest(ARRAY['x', 'ä', E'\n', '%']) c;
CREATE TABLE pg_temp.kept (sample heft.heft_sample);
SELECT throws_ok($$INSERT INTO pg_temp.kept VALUES ('\x0102')$$, '22P03', NULL, 'in a table, too');

SELECT * FROM finish();
ROLLBACK;
