
-- --- The public calls. An answer is complete, or the call fails: HF001 if a node does not answer,
-- HF002 if a bucket is not where the map says, answers twice, or is another gallery.

-- Raises an error of PL/Proxy as one of ours; errors of the nodes are unchanged.
CREATE FUNCTION heft_router.raise_again(state text, message text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF state LIKE '08%' OR state LIKE '57P%' OR (state = '55P03' AND message LIKE '%REMOTE ERROR%') OR
      (state = 'XX000' AND message LIKE 'PL/Proxy function %') THEN
    RAISE EXCEPTION 'a node does not answer, and an incomplete result is not returned: %', message
      USING ERRCODE = 'HF001',
        HINT = 'Check the addresses in heft_router.nodes. Call again when the node is back.';
  END IF;
  RAISE EXCEPTION '%', message USING ERRCODE = state;
END $$;

-- There must be as many answers as buckets: this detects a node that leaves one out.
CREATE FUNCTION heft_router.check_answers(answers bigint, wanted integer, gallery text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF answers IS DISTINCT FROM wanted THEN
    RAISE EXCEPTION '% of % buckets of "%" answered', coalesce(answers, 0), wanted, gallery
      USING ERRCODE = 'HF002';
  END IF;
END $$;

-- Creates a gallery of so many buckets, on all nodes alternately or on the named ones. Returns the
-- shard list (docs/formats.md) for the key owner. After a failure, a repeated call keeps buckets
-- that exist.
CREATE FUNCTION heft_router.heft_create_gallery(
    gallery text, buckets integer, model bytea, evaluation_keys bytea, trust text,
    enrolment_keys bytea DEFAULT NULL, tenant name DEFAULT current_user, nodes text[] DEFAULT NULL)
  RETURNS text LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  numbers integer[] := (SELECT array_agg(n.number ORDER BY n.number) FROM heft_router.nodes n
    WHERE heft_create_gallery.nodes IS NULL OR n.name = ANY (heft_create_gallery.nodes));
  wanted integer[] := (SELECT array_agg(i ORDER BY i) FROM generate_series(0, buckets - 1) i);
  places integer[];
BEGIN
  IF cardinality(numbers) IS NULL OR cardinality(numbers) < cardinality(nodes) THEN
    RAISE EXCEPTION 'unknown nodes: add them with heft_router.heft_add_node'
      USING ERRCODE = '42704';
  END IF;
  INSERT INTO heft_router.galleries (name, tenant, buckets)
    VALUES (heft_create_gallery.gallery, heft_create_gallery.tenant, heft_create_gallery.buckets);
  places := (SELECT array_agg(numbers[1 + i % cardinality(numbers)] ORDER BY i)
             FROM unnest(wanted) i);
  INSERT INTO heft_router.buckets (gallery, bucket, gallery_id, node)
    SELECT heft_create_gallery.gallery, c.bucket, c.gallery_id, places[1 + c.bucket]
    FROM heft_router.on_nodes_create(heft_create_gallery.gallery, heft_create_gallery.buckets,
      wanted, places, model, evaluation_keys, trust, enrolment_keys, heft_create_gallery.tenant) c;
  RETURN heft_router.heft_shard_list(heft_create_gallery.gallery);
EXCEPTION WHEN OTHERS THEN
  PERFORM heft_router.raise_again(SQLSTATE, SQLERRM);
END $$;

CREATE FUNCTION heft_router.heft_shard_list(gallery text) RETURNS text
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_pretty(jsonb_build_object('heft_shards', 1, 'gallery', gallery,
    'count', cardinality(p.ids), 'buckets', to_jsonb(p.ids))) || E'\n'
  FROM heft_router.places_of(gallery) p $$;

CREATE FUNCTION heft_router.heft_identify(
    gallery text, probe bytea[], conditions text[] DEFAULT '{}', identities boolean DEFAULT true,
    OUT bucket integer, OUT gallery_id text, OUT generation bigint, OUT reply bytea)
  RETURNS SETOF record LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp SET work_mem = '256MB' AS $$
DECLARE
  its record;
  files record;
  got record;
BEGIN
  its := heft_router.places_of(heft_identify.gallery);
  bucket := -1;
  SELECT string_agg(p.file, '' ORDER BY p.n) AS bytes, array_agg(length(p.file) ORDER BY p.n) AS lengths
    INTO files FROM unnest(probe) WITH ORDINALITY p (file, n);
  FOR got IN SELECT r.* FROM heft_router.on_nodes_identify(heft_identify.gallery, its.buckets,
      its.nodes, files.bytes, files.lengths, conditions, identities) r ORDER BY r.gallery LOOP
    bucket := bucket + 1;
    IF got.gallery IS DISTINCT FROM heft.heft_bucket_name(heft_identify.gallery, bucket) OR
        got.gallery_id IS DISTINCT FROM its.ids[1 + bucket] OR (length(got.reply) > 0) IS NOT TRUE THEN
      RAISE EXCEPTION 'bucket % of "%": % (gallery %, % bytes) answered in its place', bucket,
        heft_identify.gallery, got.gallery, got.gallery_id, coalesce(length(got.reply), 0)
        USING ERRCODE = 'HF002';
    END IF;
    gallery_id := got.gallery_id;
    generation := got.generation;
    reply := got.reply;
    RETURN NEXT;
  END LOOP;
  PERFORM heft_router.check_answers(bucket + 1, cardinality(its.buckets), heft_identify.gallery);
EXCEPTION WHEN OTHERS THEN
  PERFORM heft_router.raise_again(SQLSTATE, SQLERRM);
END $$;

CREATE FUNCTION heft_router.heft_verify(gallery text, identity text, samples bytea[],
    OUT bucket integer, OUT reply bytea)
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its record;
BEGIN
  its := heft_router.places_of(gallery);
  bucket := heft.heft_bucket(identity, cardinality(its.buckets));
  reply := heft_router.on_node_verify(gallery, bucket, its.nodes[1 + bucket], identity, samples);
  PERFORM heft_router.check_answers((length(reply) > 0)::integer, 1, gallery);
EXCEPTION WHEN OTHERS THEN
  PERFORM heft_router.raise_again(SQLSTATE, SQLERRM);
END $$;

CREATE FUNCTION heft_router.heft_enrol(
    gallery text, samples bytea[], identity text, metadata text[] DEFAULT '{}',
    expires timestamptz DEFAULT NULL, authorisation bytea DEFAULT NULL,
    idempotency_key text DEFAULT NULL,
    OUT bucket integer, OUT brought bigint, OUT pending bigint, OUT templates bigint,
    OUT blocks bigint, OUT repeated boolean)
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its record;
BEGIN
  IF identity IS NULL THEN
    RAISE EXCEPTION 'no identity given, and the identity selects the bucket'
      USING ERRCODE = '22004';
  END IF;
  its := heft_router.places_of(gallery);
  bucket := heft.heft_bucket(identity, cardinality(its.buckets));
  SELECT e.brought, e.pending, e.templates, e.blocks, e.repeated
    INTO brought, pending, templates, blocks, repeated
    FROM heft_router.on_node_enrol(gallery, bucket, its.nodes[1 + bucket], samples, identity,
      metadata, expires, authorisation, idempotency_key) e;
EXCEPTION WHEN OTHERS THEN
  PERFORM heft_router.raise_again(SQLSTATE, SQLERRM);
END $$;

-- The pending enrolments of each bucket; each is a separate request to the key owner.
CREATE FUNCTION heft_router.heft_pending(gallery text, OUT bucket integer, OUT request bytea)
  RETURNS SETOF record LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its record;
  answers bigint;
BEGIN
  its := heft_router.places_of(heft_pending.gallery);
  RETURN QUERY SELECT w.bucket, p.request
    FROM unnest(its.buckets) w (bucket)
    JOIN heft_router.on_nodes_pending(heft_pending.gallery, its.buckets, its.nodes) p
      ON p.gallery = heft.heft_bucket_name(heft_pending.gallery, w.bucket)
    ORDER BY w.bucket;
  GET DIAGNOSTICS answers = ROW_COUNT;
  PERFORM heft_router.check_answers(answers, cardinality(its.buckets), heft_pending.gallery);
EXCEPTION WHEN OTHERS THEN
  PERFORM heft_router.raise_again(SQLSTATE, SQLERRM);
END $$;

CREATE FUNCTION heft_router.heft_activate(gallery text, bucket integer, admission bytea,
    OUT activated bigint, OUT rejected bigint, OUT pending bigint, OUT templates bigint,
    OUT blocks bigint)
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its record;
BEGIN
  its := heft_router.places_of(gallery);
  IF bucket IS NULL OR bucket < 0 OR bucket >= cardinality(its.buckets) THEN
    RAISE EXCEPTION '"%" has buckets 0 to %', gallery, cardinality(its.buckets) - 1
      USING ERRCODE = '22023';
  END IF;
  SELECT a.* INTO activated, rejected, pending, templates, blocks
    FROM heft_router.on_node_activate(gallery, bucket, its.nodes[1 + bucket], admission) a;
EXCEPTION WHEN OTHERS THEN
  PERFORM heft_router.raise_again(SQLSTATE, SQLERRM);
END $$;

CREATE FUNCTION heft_router.heft_remove(gallery text, identity text,
    authorisation bytea DEFAULT NULL,
    OUT bucket integer, OUT removed bigint, OUT erased bigint, OUT leaving bigint,
    OUT rejected bigint, OUT generation bigint)
  LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its record;
BEGIN
  its := heft_router.places_of(gallery);
  bucket := heft.heft_bucket(identity, cardinality(its.buckets));
  SELECT r.* INTO removed, erased, leaving, rejected, generation
    FROM heft_router.on_node_remove(gallery, bucket, its.nodes[1 + bucket], identity,
      authorisation) r;
EXCEPTION WHEN OTHERS THEN
  PERFORM heft_router.raise_again(SQLSTATE, SQLERRM);
END $$;

-- One row per bucket: its place, its contents, and the public half of the key that signs there.
CREATE FUNCTION heft_router.heft_stats(gallery text,
    OUT bucket integer, OUT node text, OUT gallery_id text, OUT generation bigint,
    OUT templates bigint, OUT leaving bigint, OUT pending bigint, OUT blocks bigint,
    OUT root text, OUT server_key text)
  RETURNS SETOF record LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its record;
  answers bigint;
BEGIN
  its := heft_router.places_of(heft_stats.gallery);
  RETURN QUERY SELECT w.bucket, n.name, s.gallery_id, s.generation, s.templates, s.leaving,
      s.pending, s.blocks, s.root, s.server_key
    FROM unnest(its.buckets, its.nodes) w (bucket, node)
    JOIN heft_router.nodes n ON n.number = w.node
    JOIN heft_router.on_nodes_stats(heft_stats.gallery, its.buckets, its.nodes) s
      ON s.gallery = heft.heft_bucket_name(heft_stats.gallery, w.bucket)
    ORDER BY w.bucket;
  GET DIAGNOSTICS answers = ROW_COUNT;
  PERFORM heft_router.check_answers(answers, cardinality(its.buckets), heft_stats.gallery);
EXCEPTION WHEN OTHERS THEN
  PERFORM heft_router.raise_again(SQLSTATE, SQLERRM);
END $$;

-- --- Rights: as on the nodes. A caller has the same name there, unless a node's conninfo sets
-- another.
REVOKE ALL ON ALL TABLES IN SCHEMA heft_router FROM PUBLIC;
REVOKE ALL ON ALL ROUTINES IN SCHEMA heft_router, plproxy FROM PUBLIC;
GRANT USAGE ON SCHEMA heft_router, plproxy TO heft_enroller, heft_prober, heft_admin;
GRANT SELECT ON ALL TABLES IN SCHEMA heft_router TO heft_enroller, heft_prober, heft_admin;
GRANT INSERT ON heft_router.galleries, heft_router.buckets TO heft_admin;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA plproxy TO heft_enroller, heft_prober, heft_admin;
GRANT EXECUTE ON FUNCTION heft_router.places_of(text), heft_router.raise_again(text, text),
  heft_router.cluster_of(text, name), heft_router.check_answers(bigint, integer, text),
  heft_router.heft_shard_list(text), heft_router.heft_stats(text),
  heft_router.on_nodes_stats(text, integer[], integer[])
  TO heft_enroller, heft_prober, heft_admin;
GRANT EXECUTE ON FUNCTION
  heft_router.heft_enrol(text, bytea[], text, text[], timestamptz, bytea, text),
  heft_router.heft_pending(text), heft_router.heft_activate(text, integer, bytea),
  heft_router.on_node_enrol(text, integer, integer, bytea[], text, text[], timestamptz, bytea, text),
  heft_router.on_nodes_pending(text, integer[], integer[]),
  heft_router.on_node_activate(text, integer, integer, bytea)
  TO heft_enroller, heft_admin;
GRANT EXECUTE ON FUNCTION
  heft_router.heft_identify(text, bytea[], text[], boolean),
  heft_router.heft_verify(text, text, bytea[]),
  heft_router.on_nodes_identify(text, integer[], integer[], bytea, integer[], text[], boolean),
  heft_router.on_node_verify(text, integer, integer, text, bytea[])
  TO heft_prober, heft_admin;
GRANT EXECUTE ON FUNCTION
  heft_router.heft_create_gallery(text, integer, bytea, bytea, text, bytea, name, text[]),
  heft_router.heft_remove(text, text, bytea),
  heft_router.on_nodes_create(text, integer, integer[], integer[], bytea, bytea, text, bytea, name),
  heft_router.on_node_remove(text, integer, integer, text, bytea)
  TO heft_admin;
SELECT pg_catalog.pg_extension_config_dump('heft_router.nodes', '');
SELECT pg_catalog.pg_extension_config_dump('heft_router.galleries', '');
SELECT pg_catalog.pg_extension_config_dump('heft_router.buckets', '');
