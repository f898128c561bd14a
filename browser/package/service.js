// SPDX-License-Identifier: Apache-2.0
// Service: the requests to heft-matcher, as in /v1/openapi.yaml, and its answers. The origin
// authenticates the caller: with a client certificate of the browser, a token, or an app's own
// server in between (docs/browser.md).
import {HeftError} from './errors.js';
import {bytesOf, objectOf, partOf, percentEncoded, textOf, wrong} from './given.js';

const kFile = 'application/vnd.heft';

function freshNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

async function refusal(response) {
  let said = null;
  try {
    said = await response.json();
  } catch {
    // A proxy's page, say: the status is all there is.
  }
  const text = (value, otherwise) => (typeof value === 'string' ? value : otherwise);
  const retry = Number(response.headers.get('Retry-After'));
  return new HeftError(text(said?.code, 'UNKNOWN'), text(said?.message, `the service has answered ${response.status}`),
    {status: response.status, ...(retry > 0 ? {retryAfter: retry} : {})});
}

function formOf(files, request) {
  const form = new FormData();
  if (!Array.isArray(files)) wrong('files: give an array with one file per modality');
  for (const file of files) form.append('template', new Blob([bytesOf(file, 'files')], {type: kFile}), 'template');
  if (request) form.append('request', new Blob([jsonOf(request)], {type: 'application/json'}));
  return form;
}

function jsonOf(request) {
  try {
    return JSON.stringify(request);
  } catch (error) {
    return wrong(`${Object.keys(request).join(', ')}: not JSON (${error.message})`);
  }
}

// headerOf: a value that fetch takes: it would repeat another, and so a token, in its error.
function headerOf(value, what) {
  if (!/^[\x21-\x7e]+$/.test(textOf(value, what))) wrong(`${what}: give ASCII letters, digits and signs without spaces`);
  return value;
}

// Addresses of this machine, for which no certificate is needed.
const isLoopback = (host) => host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host);

// baseOf: without a final slash, as paths begin with one. Plain http would show the token to the
// network.
function baseOf(base) {
  let url;
  try {
    if (typeof base !== 'string' && !(base instanceof URL)) throw new TypeError('not a URL');
    url = new URL(base, globalThis.location?.href);
  } catch {
    return wrong('the service: give a URL, https://HOST:PORT');
  }
  if (url.username || url.password || url.search || url.hash) wrong('the service: give a URL without user, password, ? and #');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    wrong(`the service: ${url.protocol}//${url.host} is not https, so others could read requests and the token: use https`);
  }
  return url.href.replace(/\/+$/, '');
}

export class Service {
  #base;
  #token;
  #fetch;

  // `token`: the caller's token, or a function that returns it; `fetch`: replaces the browser's.
  constructor(base, options) {
    const {token, fetch: other} = objectOf(options, 'options');
    this.#base = baseOf(base);
    this.#token = token;
    this.#fetch = other ?? ((...all) => fetch(...all));
  }

  async #call(method, path, {body, accept = 'application/json', idempotencyKey, signal, more = {}} = {}) {
    const headers = {Accept: accept, ...more};
    const token = typeof this.#token === 'function' ? await this.#token() : this.#token;
    if (token) headers.Authorization = `Bearer ${headerOf(token, 'token')}`;
    if (method !== 'GET') {
      headers['X-Heft-Nonce'] = freshNonce();
      headers['X-Heft-Time'] = String(Math.floor(Date.now() / 1000));
    }
    if (idempotencyKey) headers['Idempotency-Key'] = headerOf(idempotencyKey, 'idempotencyKey');
    let response, bytes;
    try {
      response = await this.#fetch(this.#base + path, {method, headers, body, signal, cache: 'no-store', redirect: 'error', credentials: 'same-origin'});
      if (response.ok) bytes = new Uint8Array(await response.arrayBuffer());
    } catch (error) {
      throw new HeftError(signal?.aborted ? 'CANCELLED' : 'UNAVAILABLE', `${this.#base}${path} does not answer (${error?.message})`);
    }
    if (!response.ok) throw await refusal(response);
    return {status: response.status, bytes};
  }

  async #file(path) {
    return (await this.#call('GET', path, {accept: kFile})).bytes;
  }

  async #json(...asked) {
    const {status, bytes} = await this.#call(...asked);
    try {
      return JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(bytes));
    } catch {
      throw new HeftError('UNKNOWN', 'the answer is not JSON, so this address is not a HEFT service', {status});
    }
  }

  model() {
    return this.#file('/v1/model');
  }

  encryptionKey() {
    return this.#file('/v1/encryption-key');
  }

  // Enrols `person`; `files`: one of each modality. `wait`: seconds to wait for the key owner's
  // approval.
  async enrol(person, files, options) {
    const {galleries, wait, metadata, expires, signal, idempotencyKey = freshNonce()} = objectOf(options, 'options');
    if (!Array.isArray(galleries)) wrong('galleries: give an array with their names');
    if (wait !== undefined && !Number.isFinite(wait)) wrong('wait: seconds');
    const path = `/v1/persons/${partOf(person, 'person')}/encounters${wait === undefined ? '' : `?wait=${wait}`}`;
    const request = {galleries, ...(metadata ? {metadata} : {}), ...(expires ? {expires} : {})};
    return this.#json('POST', path, {body: formOf(files, request), idempotencyKey, signal});
  }

  // The decider's decision about the person's identity; it contains no score. `audience`: the party
  // that relies on it, by default the caller; `challenge`: that party's value, which the decision
  // must contain (checkDecision).
  async identify(gallery, files, given) {
    const {filter, ...options} = objectOf(given, 'options');
    return this.#decide(`/v1/identify/${partOf(gallery, 'gallery')}`, formOf(files, filter && {filter}), options);
  }

  // The decision on whether it is `person`.
  async verify(gallery, person, files, options) {
    return this.#decide(`/v1/verify/${partOf(gallery, 'gallery')}/${partOf(person, 'person')}`, formOf(files), objectOf(options, 'options'));
  }

  async #decide(path, body, {audience, challenge, signal}) {
    const more = {};
    if (audience !== undefined) more['X-Heft-Audience'] = percentEncoded(audience, 'audience');
    if (challenge !== undefined) more['X-Heft-Challenge'] = percentEncoded(challenge, 'challenge');
    return this.#json('POST', path, {body, signal, more});
  }
}

// ask: encrypts `vectors` ({face: Float32Array, ...}) and has the service decide who it is, or whether it is `person`. `sign`:
// {key, audience, life} of Client.sign, where the service demands signatures.
export async function ask(client, service, gallery, vectors, given) {
  const {person, sign, ...options} = objectOf(given, 'options');
  const use = person === undefined ? 'identification' : 'enrolment';
  const files = await Promise.all(Object.entries(objectOf(vectors, 'vectors')).map(async ([modality, vector]) => {
    const file = await client.encrypt(modality, vector, {use});
    return sign ? client.sign(file, sign) : file;
  }));
  return person === undefined ? service.identify(gallery, files, options) : service.verify(gallery, person, files, options);
}
