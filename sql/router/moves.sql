
-- --- Moves a whole bucket to another node while probes are answered:
--
--   CALL heft_router.heft_move('visitors', 7, 'node-c');     the old node stops changing it
--   heft-server gallery copy --from postgres:node-b:visitors.007 \
--     --gallery postgres:node-c:visitors.007                 the copy, from any machine
--   CALL heft_router.heft_moved('visitors', 7);              the new node takes over
--
-- Between the first and the last step the bucket does not change, so both copies are equal whenever
-- two nodes answer for it. An interrupted step can be repeated. heft_move_abort cancels the move,
-- until the old node has dropped the bucket. Only superusers may do this.

CREATE FUNCTION heft_router.on_node_state(i_gallery text, i_bucket integer, i_node integer,
    OUT state text, OUT digest bytea)
  LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER 'heft';
  RUN ON i_node;
  SELECT s.state, s.digest FROM heft.heft_bucket_state(i_gallery, i_bucket) s;
$$;
CREATE FUNCTION heft_router.on_node_becomes(i_gallery text, i_bucket integer, i_node integer,
    i_move uuid, i_before text[], i_after text)
  RETURNS text LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER 'heft';
  RUN ON i_node;
  SELECT heft.heft_bucket_becomes(i_gallery, i_bucket, i_move, i_before, i_after)::text;
$$;
CREATE FUNCTION heft_router.on_node_files(i_gallery text, i_bucket integer, i_node integer,
    OUT buckets integer, OUT tenant name, OUT trust text, OUT model bytea,
    OUT evaluation_keys bytea, OUT enrolment_keys bytea)
  LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER 'heft';
  RUN ON i_node;
  SELECT f.buckets, f.tenant, f.trust, f.model, f.evaluation_keys, f.enrolment_keys
    FROM heft.heft_bucket_files(i_gallery, i_bucket) f;
$$;
CREATE FUNCTION heft_router.on_node_expect(i_gallery text, i_bucket integer, i_node integer,
    i_move uuid, i_buckets integer, i_tenant name, i_trust text, i_model bytea, i_keys bytea,
    i_enrolment_keys bytea)
  RETURNS text LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER 'heft';
  RUN ON i_node;
  SELECT heft.heft_bucket_expect(i_gallery, i_bucket, i_move, i_buckets, i_tenant, i_trust, i_model,
    i_keys, i_enrolment_keys)::text;
$$;
CREATE FUNCTION heft_router.on_node_drop(i_gallery text, i_bucket integer, i_node integer,
    i_move uuid, i_states text[], i_digest bytea)
  RETURNS text LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER 'heft';
  RUN ON i_node;
  SELECT heft.heft_bucket_drop(i_gallery, i_bucket, i_move, i_states, i_digest)::text;
$$;

-- The bucket's row, locked against other moves.
CREATE FUNCTION heft_router.moving(i_gallery text, i_bucket integer)
  RETURNS heft_router.buckets LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its heft_router.buckets;
BEGIN
  SELECT b.* INTO its FROM heft_router.buckets b
    WHERE b.gallery = i_gallery AND b.bucket = i_bucket FOR UPDATE;
  IF its.gallery IS NULL THEN
    RAISE EXCEPTION 'there is no bucket % of "%"', i_bucket, i_gallery USING ERRCODE = '42704';
  END IF;
  RETURN its;
END $$;

CREATE FUNCTION heft_router.move_begin(i_gallery text, i_bucket integer, i_node text) RETURNS void
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its heft_router.buckets := heft_router.moving(i_gallery, i_bucket);
  target integer := (SELECT number FROM heft_router.nodes WHERE name = i_node);
BEGIN
  IF target IS NULL OR target = its.node OR its.moved_from IS NOT NULL OR its.moves_to <> target OR
      its.called_off THEN
    RAISE EXCEPTION 'bucket % of "%" cannot be moved to "%" now', i_bucket, i_gallery, i_node
      USING ERRCODE = '55000', HINT = 'It is there already, the node is unknown, or another move of it '
        'must end first: CALL heft_router.heft_moved, or heft_move_abort.';
  END IF;
  IF its.moves_to IS NULL THEN
    UPDATE heft_router.buckets SET moves_to = target, move = gen_random_uuid()
      WHERE gallery = i_gallery AND bucket = i_bucket;
  END IF;
END $$;

-- Announces the bucket to the new node; the old one stops changing it.
CREATE FUNCTION heft_router.move_prepare(i_gallery text, i_bucket integer) RETURNS void
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its heft_router.buckets := heft_router.moving(i_gallery, i_bucket);
  f record;
BEGIN
  SELECT * INTO f FROM heft_router.on_node_files(i_gallery, i_bucket, its.node);
  PERFORM heft_router.on_node_expect(i_gallery, i_bucket, its.moves_to, its.move, f.buckets, f.tenant,
    f.trust, f.model, f.evaluation_keys, f.enrolment_keys);
  PERFORM heft_router.on_node_becomes(i_gallery, i_bucket, its.node, its.move, '{serving}', 'leaving');
END $$;

-- Compares the copy entry by entry. It answers from the moment in which the map names it.
CREATE FUNCTION heft_router.move_switch(i_gallery text, i_bucket integer) RETURNS void
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its heft_router.buckets := heft_router.moving(i_gallery, i_bucket);
  old record;
  new record;
BEGIN
  IF its.called_off OR (its.moved_from IS NULL AND its.moves_to IS NULL) THEN
    RAISE EXCEPTION 'bucket % of "%" is not being moved, or its move was aborted', i_bucket, i_gallery
      USING ERRCODE = '55000';
  END IF;
  IF its.moved_from IS NOT NULL THEN
    RETURN;
  END IF;
  SELECT * INTO old FROM heft_router.on_node_state(i_gallery, i_bucket, its.node);
  SELECT * INTO new FROM heft_router.on_node_state(i_gallery, i_bucket, its.moves_to);
  IF old.state IS DISTINCT FROM 'leaving' OR old.digest IS NULL OR new.digest IS DISTINCT FROM old.digest THEN
    RAISE EXCEPTION 'the new node has no exact copy of bucket % of "%"', i_bucket, i_gallery
      USING ERRCODE = '55000', HINT = CASE WHEN new.digest IS NULL THEN 'Copy it there with heft-server gallery copy.'
        ELSE 'Abort the move (heft_move_abort), and begin again.' END;
  END IF;
  PERFORM heft_router.on_node_becomes(i_gallery, i_bucket, its.moves_to, its.move, '{coming}', 'ready');
  UPDATE heft_router.buckets SET node = its.moves_to, moved_from = its.node, moves_to = NULL
    WHERE gallery = i_gallery AND bucket = i_bucket;
  UPDATE heft_router.galleries SET version = version + 1 WHERE name = i_gallery;
END $$;

-- Waits for calls that may have read the map before the switch, for at most the time that a call
-- may take. Later calls to the old node are told to call again (HF002).
CREATE FUNCTION heft_router.wait_for_earlier() RETURNS void
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  switched timestamptz := clock_timestamp();
  most interval := (SELECT make_interval(secs => timeout) FROM heft_router.cluster);
BEGIN
  WHILE clock_timestamp() < switched + most AND EXISTS (
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND state = 'active' AND query_start <= switched) LOOP
    PERFORM pg_sleep(0.02);
    PERFORM pg_stat_clear_snapshot();
  END LOOP;
END $$;

-- The old node drops the bucket; only then may the new one be changed.
CREATE FUNCTION heft_router.move_end(i_gallery text, i_bucket integer) RETURNS void
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its heft_router.buckets := heft_router.moving(i_gallery, i_bucket);
  new record;
BEGIN
  SELECT * INTO new FROM heft_router.on_node_state(i_gallery, i_bucket, its.node);
  IF new.state = 'ready' THEN
    PERFORM heft_router.on_node_drop(i_gallery, i_bucket, its.moved_from, its.move, '{leaving}',
      new.digest);
  END IF;
  PERFORM heft_router.on_node_becomes(i_gallery, i_bucket, its.node, its.move, '{ready}', 'serving');
  UPDATE heft_router.buckets SET moved_from = NULL WHERE gallery = i_gallery AND bucket = i_bucket;
END $$;

-- Gives the bucket back to the old node, unless it has been dropped there. Delayed steps of the
-- cancelled move then find it so.
CREATE FUNCTION heft_router.move_back(i_gallery text, i_bucket integer) RETURNS void
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its heft_router.buckets := heft_router.moving(i_gallery, i_bucket);
BEGIN
  IF its.moves_to IS NULL AND its.moved_from IS NULL THEN
    RAISE EXCEPTION 'bucket % of "%" is not being moved', i_bucket, i_gallery USING ERRCODE = '55000';
  END IF;
  PERFORM heft_router.on_node_becomes(i_gallery, i_bucket, coalesce(its.moved_from, its.node), its.move,
    '{leaving}', 'serving');
  UPDATE heft_router.buckets SET node = coalesce(its.moved_from, its.node), moved_from = NULL,
      moves_to = coalesce(its.moves_to, its.node), called_off = true
    WHERE gallery = i_gallery AND bucket = i_bucket;
END $$;
CREATE FUNCTION heft_router.move_forget(i_gallery text, i_bucket integer) RETURNS void
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its heft_router.buckets := heft_router.moving(i_gallery, i_bucket);
BEGIN
  PERFORM heft_router.on_node_drop(i_gallery, i_bucket, its.moves_to, its.move, '{coming,ready}', NULL);
  UPDATE heft_router.buckets SET moves_to = NULL, called_off = false
    WHERE gallery = i_gallery AND bucket = i_bucket;
END $$;

-- Each step is committed before the next, because work on the nodes is not part of a transaction
-- here.
CREATE PROCEDURE heft_router.heft_move(gallery text, bucket integer, node text)
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM heft_router.move_begin(gallery, bucket, node);
  COMMIT;
  PERFORM heft_router.move_prepare(gallery, bucket);
END $$;
CREATE PROCEDURE heft_router.heft_moved(gallery text, bucket integer)
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM heft_router.move_switch(gallery, bucket);
  COMMIT;
  PERFORM heft_router.wait_for_earlier();
  PERFORM heft_router.move_end(gallery, bucket);
END $$;
CREATE PROCEDURE heft_router.heft_move_abort(gallery text, bucket integer)
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM heft_router.move_back(gallery, bucket);
  COMMIT;
  PERFORM heft_router.move_forget(gallery, bucket);
END $$;
