-- SPDX-License-Identifier: Apache-2.0
-- heft_router: sharded galleries (docs/scale.md). A gallery is a fixed number of buckets, each an
-- ordinary gallery on one node. The map says which node has which bucket. Calls go through PL/Proxy
-- to their nodes, all at once. This database sees ciphertexts, and stores none.
\echo Use "CREATE EXTENSION heft_router" to load this file. \quit

CREATE SCHEMA heft_router;

-- --- The map.
CREATE TABLE heft_router.nodes (
  number integer PRIMARY KEY CHECK (number >= 0),  -- PL/Proxy's: without gaps
  name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9._-]{1,64}$'),
  conninfo text NOT NULL CHECK (conninfo !~* '(password|://)')  -- those are in ~/.pgpass
);
-- One row. PL/Proxy reads it before each call, and reconnects after a change.
CREATE TABLE heft_router.cluster (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL,
  timeout integer NOT NULL CHECK (timeout > 0)  -- seconds for a node's answer
);
INSERT INTO heft_router.cluster (version, timeout) VALUES (1, 120);

CREATE TABLE heft_router.galleries (
  name text PRIMARY KEY CHECK (name ~ '^[a-z0-9._-]{1,60}$'),
  tenant name NOT NULL,
  buckets integer NOT NULL CHECK (buckets BETWEEN 1 AND 1000),
  version bigint NOT NULL DEFAULT 1,  -- of the map of this gallery
  created timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE heft_router.buckets (
  gallery text NOT NULL REFERENCES heft_router.galleries ON DELETE CASCADE,
  bucket integer NOT NULL CHECK (bucket >= 0),
  gallery_id text NOT NULL UNIQUE,
  node integer NOT NULL REFERENCES heft_router.nodes,
  moves_to integer REFERENCES heft_router.nodes CHECK (moves_to <> node),
  moved_from integer REFERENCES heft_router.nodes CHECK (moved_from <> node),
  move uuid,  -- the last one
  called_off boolean NOT NULL DEFAULT false,
  PRIMARY KEY (gallery, bucket)
);
ALTER TABLE heft_router.galleries ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft_router.galleries
  USING (EXISTS (SELECT 1 FROM pg_catalog.pg_roles r
                 WHERE r.rolname = tenant AND pg_catalog.pg_has_role(r.oid, 'MEMBER')));
ALTER TABLE heft_router.buckets ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft_router.buckets
  USING (EXISTS (SELECT 1 FROM heft_router.galleries g WHERE g.name = gallery));

-- --- PL/Proxy's configuration. A node's number is its partition's.
CREATE SCHEMA plproxy;
CREATE FUNCTION plproxy.get_cluster_version(cluster text) RETURNS integer
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
  AS 'SELECT version FROM heft_router.cluster';
CREATE FUNCTION plproxy.get_cluster_config(cluster text, OUT key text, OUT val text)
  RETURNS SETOF record LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
  AS $$ SELECT 'modular_mapping', '1' UNION ALL
        SELECT 'query_timeout', timeout::text FROM heft_router.cluster $$;
-- The address is the last option, so it prevails. PL/Proxy checks its query_timeout only when a
-- node sends something: so a node ends a wait for a lock itself, and a lost machine is noticed. But
-- no node ends a call by its statement_timeout: PL/Proxy takes that (57014) for the caller's
-- cancellation, cancels finished calls, and waits for that without end.
CREATE FUNCTION plproxy.get_cluster_partitions(cluster text) RETURNS SETOF text
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
  AS $$ SELECT 'connect_timeout=10 keepalives_idle=10 keepalives_interval=5 keepalives_count=3 '
          'tcp_user_timeout=30000 '
          || format('options=''-c statement_timeout=0 -c lock_timeout=%ss'' ', timeout) || conninfo
        FROM heft_router.nodes, heft_router.cluster ORDER BY number $$;

-- --- Nodes. A new one has no buckets until they are moved to it.
CREATE FUNCTION heft_router.heft_add_node(name text, conninfo text) RETURNS integer
  LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  UPDATE heft_router.cluster SET version = version + 1;
  INSERT INTO heft_router.nodes
    SELECT count(*), heft_add_node.name, heft_add_node.conninfo FROM heft_router.nodes
    RETURNING number $$;
CREATE FUNCTION heft_router.heft_change_node(name text, conninfo text) RETURNS integer
  LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  UPDATE heft_router.cluster SET version = version + 1;
  UPDATE heft_router.nodes n SET conninfo = heft_change_node.conninfo
    WHERE n.name = heft_change_node.name RETURNING number $$;

-- --- Calls of nodes. `i_nodes` has the node of each of `i_buckets`. Each node is called once, with
-- its buckets.

-- The cluster of a gallery that the caller may see and, if a tenant is given, of that tenant. It
-- also checks callers that use the functions below without the map. If nodes are called as one
-- user, it is the only check.
CREATE FUNCTION heft_router.cluster_of(i_gallery text, i_tenant name DEFAULT NULL) RETURNS text
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM heft_router.galleries g
             WHERE g.name = i_gallery AND g.tenant = coalesce(i_tenant, g.tenant)) THEN
    RETURN 'heft';
  END IF;
  RAISE EXCEPTION 'there is no gallery "%", or it is another tenant''s', i_gallery
    USING ERRCODE = '42704',
      HINT = 'SELECT name FROM heft_router.galleries shows those that you may use.';
END $$;

CREATE FUNCTION heft_router.on_nodes_create(
    i_gallery text, i_count integer, i_buckets integer[], i_nodes integer[], i_model bytea,
    i_keys bytea, i_trust text, i_enrolment_keys bytea, i_tenant name,
    OUT bucket integer, OUT gallery_id text)
  RETURNS SETOF record LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER heft_router.cluster_of(i_gallery, i_tenant);
  SPLIT i_buckets, i_nodes;
  RUN ON i_nodes;
  SELECT c.bucket, c.gallery_id FROM heft.heft_buckets_create(i_gallery, i_count, i_buckets,
    i_model, i_keys, i_trust, i_enrolment_keys, i_tenant) c;
$$;

CREATE FUNCTION heft_router.on_nodes_identify(
    i_gallery text, i_buckets integer[], i_nodes integer[], i_probe bytea, i_lengths integer[],
    i_conditions text[], i_identities boolean,
    OUT gallery text, OUT gallery_id text, OUT generation bigint, OUT reply bytea)
  RETURNS SETOF record LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER heft_router.cluster_of(i_gallery);
  SPLIT i_buckets, i_nodes;
  RUN ON i_nodes;
  SELECT m.gallery, m.gallery_id, m.generation, m.reply FROM heft.heft_identify_many(
    heft.heft_bucket_names(i_gallery, i_buckets), heft.heft_pieces(i_probe, i_lengths),
    i_conditions, i_identities) m;
$$;

CREATE FUNCTION heft_router.on_nodes_stats(
    i_gallery text, i_buckets integer[], i_nodes integer[],
    OUT gallery text, OUT gallery_id text, OUT generation bigint, OUT templates bigint,
    OUT leaving bigint, OUT pending bigint, OUT blocks bigint, OUT root text, OUT server_key text)
  RETURNS SETOF record LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER heft_router.cluster_of(i_gallery);
  SPLIT i_buckets, i_nodes;
  RUN ON i_nodes;
  SELECT n.name AS gallery, s.gallery_id, s.generation, s.templates, s.leaving, s.pending, s.blocks, s.root,
    heft.heft_server_key(n.name) AS server_key
    FROM unnest(heft.heft_bucket_names(i_gallery, i_buckets)) n (name), heft.heft_stats(n.name) s;
$$;

CREATE FUNCTION heft_router.on_nodes_pending(
    i_gallery text, i_buckets integer[], i_nodes integer[], OUT gallery text, OUT request bytea)
  RETURNS SETOF record LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER heft_router.cluster_of(i_gallery);
  SPLIT i_buckets, i_nodes;
  RUN ON i_nodes;
  SELECT n.name AS gallery, heft.heft_pending(n.name) AS request
    FROM unnest(heft.heft_bucket_names(i_gallery, i_buckets)) n (name);
$$;

CREATE FUNCTION heft_router.on_node_enrol(
    i_gallery text, i_bucket integer, i_node integer, i_samples bytea[], i_identity text,
    i_metadata text[], i_expires timestamptz, i_authorisation bytea, i_key text,
    OUT brought bigint, OUT pending bigint, OUT templates bigint, OUT blocks bigint,
    OUT repeated boolean)
  LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER heft_router.cluster_of(i_gallery);
  RUN ON i_node;
  SELECT e.brought, e.pending, e.templates, e.blocks, e.repeated FROM heft.heft_enrol(
    heft.heft_bucket_for(i_gallery, i_bucket, i_identity), i_samples, i_identity, i_metadata,
    i_expires, i_authorisation, i_key) e;
$$;

CREATE FUNCTION heft_router.on_node_activate(
    i_gallery text, i_bucket integer, i_node integer, i_admission bytea,
    OUT activated bigint, OUT rejected bigint, OUT pending bigint, OUT templates bigint,
    OUT blocks bigint)
  LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER heft_router.cluster_of(i_gallery);
  RUN ON i_node;
  SELECT a.activated, a.rejected, a.pending, a.templates, a.blocks FROM heft.heft_activate(
    (heft.heft_bucket_names(i_gallery, ARRAY[i_bucket]))[1], i_admission) a;
$$;

CREATE FUNCTION heft_router.on_node_verify(
    i_gallery text, i_bucket integer, i_node integer, i_identity text, i_samples bytea[])
  RETURNS bytea LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER heft_router.cluster_of(i_gallery);
  RUN ON i_node;
  SELECT heft.heft_verify(heft.heft_bucket_for(i_gallery, i_bucket, i_identity), i_identity,
    i_samples);
$$;

CREATE FUNCTION heft_router.on_node_remove(
    i_gallery text, i_bucket integer, i_node integer, i_identity text, i_authorisation bytea,
    OUT removed bigint, OUT erased bigint, OUT leaving bigint, OUT rejected bigint,
    OUT generation bigint)
  LANGUAGE plproxy SET search_path = pg_catalog, pg_temp AS $$
  CLUSTER heft_router.cluster_of(i_gallery);
  RUN ON i_node;
  SELECT r.removed, r.erased, r.leaving, r.rejected, r.generation FROM heft.heft_remove(
    heft.heft_bucket_for(i_gallery, i_bucket, i_identity), ARRAY[i_identity], i_authorisation) r;
$$;

-- --- The places of the buckets of a gallery that the caller may see.
CREATE FUNCTION heft_router.places_of(
    i_gallery text, OUT buckets integer[], OUT ids text[], OUT nodes integer[])
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  count integer := (SELECT g.buckets FROM heft_router.galleries g WHERE g.name = i_gallery);
BEGIN
  PERFORM heft_router.cluster_of(i_gallery);
  SELECT array_agg(b.bucket ORDER BY b.bucket), array_agg(b.gallery_id ORDER BY b.bucket),
      array_agg(b.node ORDER BY b.bucket)
    INTO buckets, ids, nodes FROM heft_router.buckets b WHERE b.gallery = i_gallery;
  IF cardinality(buckets) IS DISTINCT FROM count THEN
    RAISE EXCEPTION 'the map of "%" has % buckets of %: restore heft_router.buckets from a backup',
      i_gallery, cardinality(buckets), count USING ERRCODE = 'HF002';
  END IF;
END $$;
