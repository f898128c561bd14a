-- SPDX-License-Identifier: Apache-2.0
-- Who may do what. Galleries: main, of tenant alice; others, of tenant bob. Roles: alice and bob, who
-- have all of the extension's roles, and mallory, who has none.
BEGIN;
SELECT plan(44);

-- Only the owner has any right to the tables.
SELECT ok(NOT has_table_privilege(role, 'heft.' || name, 'SELECT, INSERT, UPDATE, DELETE'),
  role || ' has nothing of ' || name)
FROM unnest(ARRAY['alice', 'mallory']) role,
  unnest(ARRAY['store', 'blobs', 'block', 'gallery', 'identity', 'template', 'journal', 'files']) name;
SELECT ok(NOT has_table_privilege('alice', 'heft.galleries', 'INSERT, UPDATE, DELETE'),
  'galleries are made by their function alone');
SELECT ok(NOT has_schema_privilege('mallory', 'heft', 'USAGE'), 'who has no role, has nothing');
SELECT ok(NOT has_schema_privilege('alice', 'heft', 'CREATE'), 'nobody adds to the schema');
SELECT is(count(*), 0::bigint, 'no function is anybody''s')
FROM pg_proc p WHERE pronamespace = 'heft'::regnamespace AND has_function_privilege('mallory', oid, 'EXECUTE');
SELECT is(count(*), 0::bigint, 'no function runs with a search path of the caller''s')
FROM pg_proc p
WHERE pronamespace = 'heft'::regnamespace AND proname NOT LIKE 'heft_is_%' AND proconfig IS NULL;
SELECT ok(NOT has_function_privilege('probing', 'heft.heft_remove(text, text[], bytea)', 'EXECUTE'),
  'who probes does not remove');
SELECT ok(has_function_privilege('probing', 'heft.heft_stats(text)', 'EXECUTE'), 'but sees how many there are');

SELECT lives_ok($$SELECT heft.heft_stats('others')$$, 'a superuser sees all');
SET ROLE alice;
SELECT results_eq('SELECT name FROM heft.galleries', ARRAY['main'::text], 'a tenant sees his own');
SELECT lives_ok($$SELECT heft.heft_stats('main')$$, 'and uses it');
SELECT throws_ok($$SELECT heft.heft_stats('others')$$, '42704', NULL, 'nobody else''s');
SELECT throws_ok($$SELECT heft.heft_stats('nobodys')$$, '42704',
  'there is no gallery "nobodys", or it is another tenant''s', 'nor is he told whether it is there');
SELECT throws_ok($$SELECT heft.heft_identify('others', ARRAY[(SELECT bytes FROM world.files
  WHERE name = 'identification-5-face')])$$, '42704', NULL, 'not asked');
SELECT throws_ok($$SELECT heft.heft_remove('others', '{1}')$$, '42704', NULL, 'not emptied');
SELECT throws_ok($$SELECT heft.heft_pending('others')$$, '42704', NULL, 'not listened to');
SELECT throws_ok($$SELECT heft.heft_create_gallery('third', (SELECT bytes FROM world.files WHERE
  name = 'model'), (SELECT bytes FROM world.files WHERE name = 'evaluation'), 'x', NULL, 'bob')$$,
  '42501', NULL, 'no gallery in another''s name');
SELECT throws_ok('SELECT * FROM heft.blobs', '42501', NULL, 'blocks are not read');
SELECT throws_ok('SHOW heft.state_directory', '42501', NULL, 'nor where the keys are');
SELECT throws_ok($$SET heft.state_directory = '/tmp'$$, '42501', NULL, 'nor set it');
SELECT throws_ok($$SET heft.cache_size = 1$$, '42501', NULL, 'nor the cache');
SELECT throws_ok($$SET heft.nothing = 1$$, '42602', NULL, 'the prefix is reserved');
-- A function that costs nothing would look at rows before the policy does.
CREATE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001
  AS $$BEGIN RAISE NOTICE 'saw %', $1; RETURN $1 = 'others'; END$$;
SELECT is_empty('SELECT name FROM heft.galleries WHERE pg_temp.tell(name)', 'a policy goes before');
-- Operators of one's own, before the system's.
CREATE FUNCTION hers.yes(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR hers.= (FUNCTION = hers.yes, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION hers.state_of(text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE $1;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;
SET search_path = hers, pg_catalog, public;
SELECT 'a'::text = 'b'::text AS believed, hers.state_of($$SELECT heft.heft_stats('others')$$) AS state \gset
RESET search_path;
SELECT ok(:'believed'::boolean, 'an operator of hers');
SELECT is(:'state'::text, '42704'::text, 'is not asked by the extension');

-- The order of writers is an advisory lock, which every role may take unless that right is revoked
-- (docs/postgres.md, "Who may do what"). The extension does not need the right.
RESET ROLE;
SELECT ok(bool_and(has_function_privilege('mallory', p.oid, 'EXECUTE')), 'PostgreSQL lets anybody lock')
FROM pg_proc p WHERE proname ~ '^pg_(try_)?advisory_' AND proname !~ 'unlock' AND proargtypes = '23 23';
DO $$
DECLARE
  lock regprocedure;
BEGIN
  FOR lock IN SELECT oid FROM pg_catalog.pg_proc
      WHERE proname ~ '^pg_(try_)?advisory_' AND proname !~ 'unlock' AND proargtypes = '23 23' LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', lock);
  END LOOP;
END $$;
SET ROLE alice;
SELECT throws_ok('SELECT pg_advisory_lock(1212499540, 1)', '42501', NULL, 'nobody stops those who write');
SELECT throws_ok('SELECT pg_try_advisory_xact_lock_shared(1212499540, 1)', '42501', NULL, 'nor in another way');
SELECT lives_ok($$SELECT heft.heft_enrol('main', ARRAY[(SELECT bytes FROM world.files WHERE name = 'enrolment-24-face'),
  (SELECT bytes FROM world.files WHERE name = 'enrolment-24-voice')])$$, 'and whoever may write does');

SELECT * FROM finish();
ROLLBACK;
