-- SPDX-License-Identifier: Apache-2.0
-- The extension's objects above the store's tables (postgres/schema.sql): rights to galleries,
-- files by their fingerprints, types, functions, and roles that may call them. docs/postgres.md.

-- Only the owner can use the store's tables. Functions read and write them with the owner's rights,
-- after the caller's own rights have decided which gallery it may name. A reader of a table could
-- read the rows of every tenant.
REVOKE ALL ON ALL TABLES IN SCHEMA heft FROM PUBLIC;

-- A dump contains the row of its store, which replaces the one that is made here.
CREATE FUNCTION heft.replace_store() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM heft.store WHERE generation = 0;
  RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION heft.replace_store() FROM PUBLIC;
CREATE TRIGGER replace_store BEFORE INSERT ON heft.store
  FOR EACH ROW EXECUTE FUNCTION heft.replace_store();

-- Models and public keys, by their fingerprints.
CREATE TABLE heft.files (
  fingerprint bytea PRIMARY KEY GENERATED ALWAYS AS (sha256(bytes)) STORED,
  bytes bytea NOT NULL
);
ALTER TABLE heft.files ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Galleries: their tenants and their servers' files.
CREATE TABLE heft.galleries (
  name text PRIMARY KEY CHECK (name ~ '^[a-z0-9._-]{1,64}$'),
  tenant name NOT NULL,  -- a role: only its members see the gallery
  model bytea NOT NULL REFERENCES heft.files,
  evaluation_keys bytea NOT NULL REFERENCES heft.files,
  enrolment_keys bytea REFERENCES heft.files,
  trust text NOT NULL,  -- a trust file: whose signatures count
  created timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE heft.galleries ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants ON heft.galleries
  USING (EXISTS (SELECT 1 FROM pg_catalog.pg_roles r
                 WHERE r.rolname = tenant AND pg_catalog.pg_has_role(r.oid, 'MEMBER')));

-- The tenant of a gallery is also in the store's own table, whose rows and those that belong to
-- them are seen by it alone.
CREATE FUNCTION heft.give_tenant() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE heft.gallery g SET tenant = NEW.tenant WHERE g.name = NEW.name;
  RETURN NEW;
END $$;
CREATE FUNCTION heft.take_tenant() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.tenant := coalesce((SELECT g.tenant FROM heft.galleries g WHERE g.name = NEW.name), NEW.tenant);
  RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION heft.give_tenant(), heft.take_tenant() FROM PUBLIC;
CREATE TRIGGER give_tenant AFTER INSERT OR UPDATE OF name, tenant ON heft.galleries
  FOR EACH ROW EXECUTE FUNCTION heft.give_tenant();
CREATE TRIGGER take_tenant BEFORE INSERT OR UPDATE OF name ON heft.gallery
  FOR EACH ROW EXECUTE FUNCTION heft.take_tenant();

-- --- Types: bytes that HEFT's own readers have accepted.
CREATE FUNCTION heft.heft_is_sample(bytea) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION heft.heft_is_template(bytea) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION heft.heft_is_probe(bytea) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION heft.heft_is_reply(bytea) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION heft.heft_is_model(bytea) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION heft.heft_is_keys(bytea) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION heft.heft_is_request(bytea) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION heft.heft_is_admission(bytea) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE DOMAIN heft.heft_sample AS bytea CHECK (heft.heft_is_sample(VALUE));
CREATE DOMAIN heft.heft_template AS bytea CHECK (heft.heft_is_template(VALUE));
CREATE DOMAIN heft.heft_probe AS bytea CHECK (heft.heft_is_probe(VALUE));
CREATE DOMAIN heft.heft_reply AS bytea CHECK (heft.heft_is_reply(VALUE));
CREATE DOMAIN heft.heft_model AS bytea CHECK (heft.heft_is_model(VALUE));
CREATE DOMAIN heft.heft_keys AS bytea CHECK (heft.heft_is_keys(VALUE));
CREATE DOMAIN heft.heft_request AS bytea CHECK (heft.heft_is_request(VALUE));
CREATE DOMAIN heft.heft_admission AS bytea CHECK (heft.heft_is_admission(VALUE));

-- --- Functions. Their results of the types above are made here, so they are not checked again.
CREATE FUNCTION heft.heft_create_gallery(
    gallery text, model heft.heft_model, evaluation_keys heft.heft_keys, trust text,
    enrolment_keys heft.heft_keys DEFAULT NULL, tenant name DEFAULT current_user)
  RETURNS text
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

CREATE FUNCTION heft.heft_enrol(
    gallery text, samples heft.heft_sample[], identity text DEFAULT NULL,
    metadata text[] DEFAULT '{}', expires timestamptz DEFAULT NULL,
    authorisation bytea DEFAULT NULL, idempotency_key text DEFAULT NULL)
  RETURNS heft.heft_enrol_result
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

CREATE FUNCTION heft.heft_pending(gallery text) RETURNS bytea
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

CREATE FUNCTION heft.heft_activate(gallery text, admission heft.heft_admission)
  RETURNS heft.heft_activate_result
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

CREATE FUNCTION heft.heft_identify(
    gallery text, probe heft.heft_probe[], conditions text[] DEFAULT '{}',
    identities boolean DEFAULT true)
  RETURNS bytea
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

-- For many galleries at once, with the same model, keys and trust file: one reply each, in their
-- order.
CREATE FUNCTION heft.heft_identify_many(
    galleries text[], probe heft.heft_probe[], conditions text[] DEFAULT '{}',
    identities boolean DEFAULT true,
    OUT gallery text, OUT gallery_id text, OUT generation bigint, OUT reply bytea)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

CREATE FUNCTION heft.heft_verify(gallery text, identity text, samples heft.heft_sample[])
  RETURNS bytea
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

CREATE FUNCTION heft.heft_remove(
    gallery text, identities text[], authorisation bytea DEFAULT NULL)
  RETURNS heft.heft_remove_result
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

CREATE FUNCTION heft.heft_stats(gallery text) RETURNS heft.heft_gallery_info
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

-- Who is enrolled: the columns of `heft-server gallery list`.
CREATE FUNCTION heft.heft_list(
    gallery text,
    OUT identity text, OUT enrolled_at timestamptz, OUT state text, OUT expires timestamptz,
    OUT "position" bigint, OUT metadata text)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

CREATE FUNCTION heft.heft_server_key(gallery text) RETURNS text
  AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE SET search_path = pg_catalog, pg_temp;

-- --- Rights: roles that are granted to callers. A tenant's own role selects the galleries.
DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['heft_enroller', 'heft_prober', 'heft_admin'] LOOP
    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = role) THEN
      EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', role);
    END IF;
  END LOOP;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA heft FROM PUBLIC;
GRANT USAGE ON SCHEMA heft TO heft_enroller, heft_prober, heft_admin;
GRANT SELECT ON heft.galleries TO heft_enroller, heft_prober, heft_admin;
-- Checks of the types.
GRANT EXECUTE ON FUNCTION
  heft.heft_is_sample(bytea), heft.heft_is_template(bytea), heft.heft_is_probe(bytea),
  heft.heft_is_reply(bytea), heft.heft_is_model(bytea), heft.heft_is_keys(bytea),
  heft.heft_is_request(bytea), heft.heft_is_admission(bytea)
  TO heft_enroller, heft_prober, heft_admin;
GRANT EXECUTE ON FUNCTION heft.heft_stats(text), heft.heft_server_key(text)
  TO heft_enroller, heft_prober, heft_admin;
GRANT EXECUTE ON FUNCTION
  heft.heft_enrol(text, heft.heft_sample[], text, text[], timestamptz, bytea, text),
  heft.heft_pending(text), heft.heft_activate(text, heft.heft_admission), heft.heft_list(text)
  TO heft_enroller, heft_admin;
GRANT EXECUTE ON FUNCTION
  heft.heft_identify(text, heft.heft_probe[], text[], boolean),
  heft.heft_identify_many(text[], heft.heft_probe[], text[], boolean),
  heft.heft_verify(text, text, heft.heft_sample[])
  TO heft_prober, heft_admin;
GRANT EXECUTE ON FUNCTION
  heft.heft_create_gallery(text, heft.heft_model, heft.heft_keys, text, heft.heft_keys, name),
  heft.heft_remove(text, text[], bytea)
  TO heft_admin;

-- A dump contains all of it.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['store', 'commits', 'gallery', 'gallery_state', 'block',
      'block_state', 'run', 'template', 'identity', 'sample', 'journal', 'fold', 'pending_file',
      'pending', 'free_position', 'renewal', 'receipt', 'once', 'other', 'blobs', 'files',
      'galleries'] LOOP
    PERFORM pg_catalog.pg_extension_config_dump(('heft.' || name)::regclass, '');
  END LOOP;
END $$;
