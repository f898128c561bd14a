
-- --- Moving buckets: a node's part (sql/router/moves.sql has the whole). Only for the owner, as
-- copying is. Each step may be repeated.

-- The store's number of a gallery, as its keys begin, and the next number.
CREATE FUNCTION heft.heft_keys_of(name text, OUT first bytea, OUT behind bytea)
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT int4send(n), int4send(n + 1) FROM (
    SELECT get_byte(value, 0) + (get_byte(value, 1) << 8) + (get_byte(value, 2) << 16) +
      (get_byte(value, 3) << 24) AS n
    FROM heft.catalog WHERE key = convert_to(name, 'UTF8')) of_catalog $$;

-- The store's tables of entries, without the catalogue.
CREATE FUNCTION heft.heft_entry_tables() RETURNS SETOF text
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.relname::text FROM pg_class c
  WHERE c.relnamespace = 'heft'::regnamespace AND c.relkind = 'r' AND c.relname <> 'catalog'
    AND EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'hash')
    AND EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'key')
  ORDER BY c.relname $$;

-- Stops all changes in this store until the transaction ends: the lock stops writers that wait for
-- it, the row those that do not.
CREATE FUNCTION heft.heft_stop_writers() RETURNS void
  LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_advisory_xact_lock(1212499540, 1);
  UPDATE heft.store SET generation = generation + 1 $$;

-- All data of a gallery, independent of its number in this store: equal for a copy on another node.
-- Blocks by their hashes; other values without their checksums (8 bytes), which cover the number.
CREATE FUNCTION heft.heft_digest(name text) RETURNS bytea
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  entries text;
  from_key bytea;
  to_key bytea;
  digest bytea := '';
  one bytea;
BEGIN
  SELECT k.first, k.behind INTO from_key, to_key FROM heft.heft_keys_of(name) k;
  FOR entries IN SELECT heft.heft_entry_tables() LOOP
    EXECUTE format('SELECT sha256(coalesce(string_agg(sha256(int4send(length(e.key)) || '
      'substr(e.key, 5) || CASE WHEN $3 AND e.value IS NULL THEN e.hash || ''h'' '
      'WHEN $3 THEN e.value || ''v'' '
      'ELSE substr(coalesce(e.value, b.bytes), 1, length(coalesce(e.value, b.bytes)) - 8) END), '
      ''''' ORDER BY e.key), '''')) FROM heft.%I e LEFT JOIN heft.blobs b ON b.hash = e.hash '
      'AND NOT $3 WHERE e.key >= $1 AND e.key < $2', entries)
      INTO one USING from_key, to_key, entries = 'blocks';
    digest := sha256(digest || convert_to(entries, 'UTF8') || one);
  END LOOP;
  RETURN digest;
END $$;

-- For a bucket here: its state, and its digest if it is in the store.
CREATE FUNCTION heft.heft_bucket_state(gallery text, bucket integer, OUT state text, OUT digest bytea)
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT b.state, CASE WHEN k.first IS NOT NULL THEN heft.heft_digest(b.name) END
  FROM (SELECT) one
  LEFT JOIN heft.buckets b ON b.gallery = heft_bucket_state.gallery
    AND b.bucket = heft_bucket_state.bucket
  LEFT JOIN heft.heft_keys_of(b.name) k ON true $$;

-- A step of a move, from one of the states `before` to `after`; no effect if it was taken before.
-- Delayed steps of a cancelled move are refused.
CREATE FUNCTION heft.heft_bucket_becomes(gallery text, bucket integer, move uuid, before text[], after text)
  RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its text := heft.heft_bucket_name(gallery, bucket);
  now_is record;
BEGIN
  PERFORM heft.heft_stop_writers();
  SELECT b.state, b.move INTO now_is FROM heft.buckets b WHERE b.name = its FOR UPDATE;
  IF now_is.state = after AND after = 'serving' THEN
    RETURN;
  END IF;
  IF now_is.state IS NULL OR NOT now_is.state = ANY (before || after) OR
      (after <> 'leaving' AND now_is.move IS DISTINCT FROM heft_bucket_becomes.move) THEN
    RAISE EXCEPTION 'bucket % of "%" is % here', bucket, gallery, coalesce(now_is.state, 'not')
      USING ERRCODE = 'HF004', HINT = 'The table heft_router.buckets shows the state of a move.';
  END IF;
  UPDATE heft.buckets b SET state = after, move = heft_bucket_becomes.move WHERE b.name = its;
END $$;

-- All that another node needs for the bucket that will come.
CREATE FUNCTION heft.heft_bucket_files(gallery text, bucket integer,
    OUT buckets integer, OUT tenant name, OUT trust text, OUT model bytea,
    OUT evaluation_keys bytea, OUT enrolment_keys bytea)
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT b.buckets, g.tenant, g.trust, m.bytes, v.bytes, e.bytes
  FROM heft.buckets b JOIN heft.galleries g USING (name)
  JOIN heft.files m ON m.fingerprint = g.model
  JOIN heft.files v ON v.fingerprint = g.evaluation_keys
  LEFT JOIN heft.files e ON e.fingerprint = g.enrolment_keys
  WHERE b.gallery = heft_bucket_files.gallery AND b.bucket = heft_bucket_files.bucket $$;

CREATE FUNCTION heft.heft_bucket_expect(gallery text, bucket integer, move uuid, buckets integer,
    tenant name, trust text, model bytea, evaluation_keys bytea, enrolment_keys bytea)
  RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its text := heft.heft_bucket_name(gallery, bucket);
BEGIN
  UPDATE heft.buckets b SET move = heft_bucket_expect.move
    WHERE b.name = its AND b.state IN ('coming', 'ready');
  IF FOUND THEN
    RETURN;
  END IF;
  INSERT INTO heft.files (bytes) SELECT f FROM unnest(ARRAY[model, evaluation_keys, enrolment_keys]) f
    WHERE f IS NOT NULL ON CONFLICT DO NOTHING;
  INSERT INTO heft.galleries (name, tenant, model, evaluation_keys, enrolment_keys, trust)
    VALUES (its, tenant, sha256(model), sha256(evaluation_keys), sha256(enrolment_keys), trust);
  INSERT INTO heft.buckets (gallery, bucket, buckets, name, state, move)
    VALUES (gallery, bucket, buckets, its, 'coming', move);
END $$;

-- Deletes a bucket that has left, or will not come, from this store, if it has this `digest` (NULL:
-- any). Other galleries' blocks stay.
CREATE FUNCTION heft.heft_bucket_drop(gallery text, bucket integer, move uuid, states text[], digest bytea)
  RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its text := heft.heft_bucket_name(gallery, bucket);
  now_is record;
  from_key bytea;  -- NULL: the move ended before any entry arrived
  to_key bytea;
  entries text;
BEGIN
  PERFORM heft.heft_stop_writers();
  SELECT b.state, b.move INTO now_is FROM heft.buckets b WHERE b.name = its FOR UPDATE;
  IF now_is.state IS NULL THEN
    RETURN;  -- done before
  END IF;
  SELECT k.first, k.behind INTO from_key, to_key FROM heft.heft_keys_of(its) k;
  IF NOT now_is.state = ANY (states) OR now_is.move IS DISTINCT FROM heft_bucket_drop.move THEN
    RAISE EXCEPTION 'bucket % of "%" is % here', bucket, gallery, now_is.state USING ERRCODE = 'HF004';
  END IF;
  IF digest IS NOT NULL AND heft.heft_digest(its) IS DISTINCT FROM digest THEN
    RAISE EXCEPTION 'bucket % of "%" has changed since it was copied: nothing is dropped', bucket, gallery
      USING ERRCODE = 'HF004',
        HINT = 'It was changed without heft''s functions: call heft_router.heft_move_abort, and begin again.';
  END IF;
  IF from_key IS NOT NULL THEN
    -- With the second copies, whose keys begin with a byte 255 (gallery/checked_store.h).
    FOR entries IN SELECT heft.heft_entry_tables() LOOP
      EXECUTE format('WITH gone AS (DELETE FROM heft.%I WHERE key >= $1 AND key < $2 '
        'OR key >= ''\xff''::bytea || $1 AND key < ''\xff''::bytea || $2 RETURNING hash), '
        'named AS (SELECT hash, count(*) AS n FROM gone WHERE hash IS NOT NULL GROUP BY hash) '
        'UPDATE heft.blobs b SET uses = b.uses - named.n FROM named WHERE b.hash = named.hash', entries)
        USING from_key, to_key;
    END LOOP;
    DELETE FROM heft.blobs WHERE uses = 0;
    DELETE FROM heft.catalog
      WHERE key IN (convert_to(its, 'UTF8'), '\xff'::bytea || convert_to(its, 'UTF8'));
  END IF;
  DELETE FROM heft.galleries WHERE name = its;  -- and its row in heft.buckets
END $$;

REVOKE ALL ON FUNCTION heft.heft_keys_of(text), heft.heft_entry_tables(), heft.heft_stop_writers(),
  heft.heft_digest(text), heft.heft_bucket_state(text, integer),
  heft.heft_bucket_becomes(text, integer, uuid, text[], text), heft.heft_bucket_files(text, integer),
  heft.heft_bucket_expect(text, integer, uuid, integer, name, text, bytea, bytea, bytea),
  heft.heft_bucket_drop(text, integer, uuid, text[], bytea)
  FROM PUBLIC;
