
-- --- Moving buckets: a node's part (sql/router/moves.sql has the whole). Only for the owner, as
-- copying is. Each step may be repeated.

-- The store's tables of a gallery's rows, and whether they have long values.
CREATE FUNCTION heft.heft_row_tables(OUT relation text, OUT long boolean) RETURNS SETOF record
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.relname::text,
    EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'hash')
  FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid
  WHERE k.contype = 'f' AND k.confrelid = 'heft.gallery'::regclass AND c.relname <> 'blobs'
  ORDER BY c.relname $$;

-- Stops all changes in this store until the transaction ends: the lock stops writers that wait for
-- it, the row those that do not.
CREATE FUNCTION heft.heft_stop_writers() RETURNS void
  LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_advisory_xact_lock(1212499540, 1);
  UPDATE heft.store SET generation = generation + 1 $$;

-- All data of a gallery, independent of its number in this store: equal for a copy on another node.
-- Blocks by their hashes; all else without checksums (8 bytes at the end of long values), which
-- cover the number. Second copies, whose keys begin with a byte 255, are left out.
CREATE FUNCTION heft.heft_digest(name text) RETURNS bytea
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its bigint;
  relation text;
  long boolean;
  value text;
  digest bytea := '';
  one bytea;
BEGIN
  SELECT g.number INTO its FROM heft.gallery g WHERE g.name = heft_digest.name;
  FOR relation, long IN SELECT * FROM heft.heft_row_tables() LOOP
    value := 'convert_to((to_jsonb(e) - ''{gallery,checksum,key,value,hash,length}''::text[])::text, ''UTF8'')';
    IF relation = 'other' THEN
      value := value || ' || substr(e.key, 5)';
    END IF;
    IF long AND relation = 'block' THEN
      value := value || ' || coalesce(e.hash || ''h''::bytea, e.value || ''v''::bytea)';
    ELSIF long THEN
      value := value || ' || substr(coalesce(e.value, b.bytes), 1, length(coalesce(e.value, b.bytes)) - 8)';
    END IF;
    EXECUTE format('SELECT sha256(coalesce(string_agg(s.one, '''' ORDER BY s.one), '''')) FROM ('
        'SELECT sha256(%s) AS one FROM heft.%I e %s WHERE e.gallery = $1 %s) s', value, relation,
        CASE WHEN long AND relation <> 'block'
          THEN 'LEFT JOIN heft.blobs b ON b.hash = e.hash AND b.gallery = e.gallery' ELSE '' END,
        CASE WHEN relation = 'other' THEN 'AND get_byte(e.key, 0) <> 255' ELSE '' END)
      INTO one USING its;
    digest := sha256(digest || convert_to(relation, 'UTF8') || one);
  END LOOP;
  RETURN digest;
END $$;

-- For a bucket here: its state, and its digest if it is in the store.
CREATE FUNCTION heft.heft_bucket_state(gallery text, bucket integer, OUT state text, OUT digest bytea)
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT b.state, CASE WHEN g.number IS NOT NULL THEN heft.heft_digest(b.name) END
  FROM (SELECT) one
  LEFT JOIN heft.buckets b ON b.gallery = heft_bucket_state.gallery
    AND b.bucket = heft_bucket_state.bucket
  LEFT JOIN heft.gallery g ON g.name = b.name $$;

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
BEGIN
  PERFORM heft.heft_stop_writers();
  SELECT b.state, b.move INTO now_is FROM heft.buckets b WHERE b.name = its FOR UPDATE;
  IF now_is.state IS NULL THEN
    RETURN;  -- done before
  END IF;
  IF NOT now_is.state = ANY (states) OR now_is.move IS DISTINCT FROM heft_bucket_drop.move THEN
    RAISE EXCEPTION 'bucket % of "%" is % here', bucket, gallery, now_is.state USING ERRCODE = 'HF004';
  END IF;
  IF digest IS NOT NULL AND heft.heft_digest(its) IS DISTINCT FROM digest THEN
    RAISE EXCEPTION 'bucket % of "%" has changed since it was copied: nothing is dropped', bucket, gallery
      USING ERRCODE = 'HF004',
        HINT = 'It was changed without heft''s functions: call heft_router.heft_move_abort, and begin again.';
  END IF;
  DELETE FROM heft.gallery WHERE name = its;  -- and all rows that belong to it
  DELETE FROM heft.galleries WHERE name = its;  -- and its row in heft.buckets
END $$;

REVOKE ALL ON FUNCTION heft.heft_row_tables(), heft.heft_stop_writers(),
  heft.heft_digest(text), heft.heft_bucket_state(text, integer),
  heft.heft_bucket_becomes(text, integer, uuid, text[], text), heft.heft_bucket_files(text, integer),
  heft.heft_bucket_expect(text, integer, uuid, integer, name, text, bytea, bytea, bytea),
  heft.heft_bucket_drop(text, integer, uuid, text[], bytea)
  FROM PUBLIC;
