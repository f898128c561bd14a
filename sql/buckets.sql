
-- --- Buckets: a sharded gallery is a fixed number of ordinary galleries, each on one of several
-- nodes (docs/scale.md). This is a node's record of its own buckets; the router has the map
-- (sql/router/).

-- The bucket of an identity, from 0 (BucketOf, include/heft/shards.h).
CREATE FUNCTION heft.heft_bucket(identity text, buckets integer) RETURNS integer
  AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE
  SET search_path = pg_catalog, pg_temp;

-- The name of the gallery that is bucket 7 of visitors: visitors.007 (BucketAddress).
CREATE FUNCTION heft.heft_bucket_name(gallery text, bucket integer) RETURNS text
  LANGUAGE sql STRICT IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
  AS $$ SELECT gallery || '.' || lpad(bucket::text, 3, '0') $$;

CREATE TABLE heft.buckets (
  gallery text NOT NULL,
  bucket integer NOT NULL,
  buckets integer NOT NULL CHECK (buckets BETWEEN 1 AND 1000),
  name text NOT NULL UNIQUE REFERENCES heft.galleries ON DELETE CASCADE,
  -- A bucket changes only where it is serving. During a move it changes nowhere: leaving (on the
  -- old node) and ready (on the new one) answer probes; coming is not complete yet.
  state text NOT NULL DEFAULT 'serving' CHECK (state IN ('serving', 'leaving', 'coming', 'ready')),
  move uuid,  -- the last one; only its steps are taken
  PRIMARY KEY (gallery, bucket),
  CHECK (bucket >= 0 AND bucket < buckets),
  CHECK (name = heft.heft_bucket_name(gallery, bucket))
);
-- A caller that may see a bucket's gallery sees the bucket's row.
ALTER TABLE heft.buckets ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.buckets
  USING (EXISTS (SELECT 1 FROM heft.galleries g WHERE g.name = buckets.name))
  WITH CHECK (state = 'serving' AND EXISTS (SELECT 1 FROM heft.galleries g WHERE g.name = buckets.name));

-- Names of the galleries that are these buckets, in their order, in the state that the calling
-- query sees. An error unless all of them are here and answer.
CREATE FUNCTION heft.heft_bucket_names(gallery text, wanted integer[]) RETURNS text[]
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  names text[];
  missing integer;
BEGIN
  SELECT array_agg(b.name ORDER BY w.n), min(w.bucket) FILTER (WHERE b.name IS NULL)
    INTO names, missing
    FROM unnest(wanted) WITH ORDINALITY w (bucket, n)
    LEFT JOIN heft.buckets b ON b.gallery = heft_bucket_names.gallery AND b.bucket = w.bucket
      AND b.state <> 'coming';
  IF missing IS NOT NULL THEN
    RAISE EXCEPTION 'bucket % of "%" is not on this node, or is another tenant''s', missing, gallery
      USING ERRCODE = 'HF002', HINT = 'If it has just moved, call again.';
  END IF;
  RETURN names;
END $$;

-- Several values sent as one: PL/Proxy sends arrays as text, which takes longer than all the rest.
CREATE FUNCTION heft.heft_pieces(joined bytea, lengths integer[]) RETURNS bytea[]
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT array_agg(substr(joined, (1 + behind - length)::integer, length) ORDER BY n)
  FROM (SELECT length, n, sum(length) OVER (ORDER BY n) AS behind
        FROM unnest(lengths) WITH ORDINALITY l (length, n)) pieces $$;

-- The gallery of a person's bucket, which must be this one: it does not rely on the router.
CREATE FUNCTION heft.heft_bucket_for(gallery text, bucket integer, identity text) RETURNS text
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its text := (heft.heft_bucket_names(gallery, ARRAY[bucket]))[1];
  own integer := (SELECT heft.heft_bucket(identity, b.buckets) FROM heft.buckets b
                  WHERE b.name = its);
BEGIN
  IF own IS DISTINCT FROM bucket THEN
    RAISE EXCEPTION 'this identity belongs to bucket %, not % of "%"', own, bucket, gallery
      USING ERRCODE = '22023';
  END IF;
  RETURN its;
END $$;

-- Creates these buckets of a gallery, empty. A repeated call keeps existing ones, if they are
-- equal.
CREATE FUNCTION heft.heft_buckets_create(
    gallery text, buckets integer, wanted integer[], model heft.heft_model,
    evaluation_keys heft.heft_keys, trust text, enrolment_keys heft.heft_keys, tenant name,
    OUT bucket integer, OUT gallery_id text)
  RETURNS SETOF record LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  one integer;
  its text;
BEGIN
  FOREACH one IN ARRAY wanted LOOP
    its := heft.heft_bucket_name(heft_buckets_create.gallery, one);
    bucket := one;
    IF EXISTS (SELECT 1 FROM heft.buckets b JOIN heft.galleries g USING (name)
               WHERE b.name = its AND b.buckets = heft_buckets_create.buckets
                 AND g.tenant = heft_buckets_create.tenant AND g.trust = heft_buckets_create.trust
                 AND g.model = sha256(heft_buckets_create.model)
                 AND g.evaluation_keys = sha256(heft_buckets_create.evaluation_keys)) THEN
      gallery_id := (SELECT s.gallery_id FROM heft.heft_stats(its) s);
    ELSE
      gallery_id := heft.heft_create_gallery(its, heft_buckets_create.model,
        heft_buckets_create.evaluation_keys, heft_buckets_create.trust,
        heft_buckets_create.enrolment_keys, heft_buckets_create.tenant);
      INSERT INTO heft.buckets (gallery, bucket, buckets, name)
        VALUES (heft_buckets_create.gallery, one, heft_buckets_create.buckets, its);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

REVOKE ALL ON heft.buckets FROM PUBLIC;
GRANT SELECT ON heft.buckets TO heft_enroller, heft_prober, heft_admin;
GRANT INSERT ON heft.buckets TO heft_admin;
REVOKE ALL ON FUNCTION heft.heft_bucket(text, integer), heft.heft_bucket_name(text, integer),
  heft.heft_bucket_names(text, integer[]), heft.heft_bucket_for(text, integer, text),
  heft.heft_pieces(bytea, integer[]),
  heft.heft_buckets_create(text, integer, integer[], heft.heft_model, heft.heft_keys, text,
    heft.heft_keys, name)
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION heft.heft_bucket(text, integer), heft.heft_bucket_name(text, integer),
  heft.heft_bucket_names(text, integer[]), heft.heft_bucket_for(text, integer, text),
  heft.heft_pieces(bytea, integer[])
  TO heft_enroller, heft_prober, heft_admin;
GRANT EXECUTE ON FUNCTION heft.heft_buckets_create(text, integer, integer[], heft.heft_model,
    heft.heft_keys, text, heft.heft_keys, name)
  TO heft_admin;
SELECT pg_catalog.pg_extension_config_dump('heft.buckets', '');
