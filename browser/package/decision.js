// SPDX-License-Identifier: Apache-2.0
// The decider's signature on a decision (RFC 7515, compact), checked by WebCrypto.
import {HeftError} from './errors.js';
import {objectOf, wrong} from './given.js';

// No token and no other signed file has this type.
const kType = 'heft-decision+jwt';
const kAlgorithms = {
  EdDSA: {name: 'Ed25519'},
  ES256: {name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256'},
};

function bytesOf(text) {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw new Error('no base64url');
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
}

function parsedObject(text) {
  const value = JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(bytesOf(text)));
  if (typeof value !== 'object' || value === null) throw new Error('not an object');
  return value;
}

const refuse = (why) => {
  throw new HeftError('UNAUTHENTICATED', `the decision must not be trusted: ${why}`);
};

function parse(jws) {
  try {
    const [head, payload, signature, ...rest] = jws.split('.');
    if (rest.length > 0) throw new Error('not three parts');
    return {header: parsedObject(head), claims: parsedObject(payload), signed: new TextEncoder().encode(`${head}.${payload}`), signature: bytesOf(signature)};
  } catch {
    return refuse('its signature cannot be read');
  }
}

// The demands of an app on a decision: the option, its claim, and the error for another value.
const kDemands = [
  ['issuer', 'iss', 'it is from another decider'],
  ['audience', 'aud', 'it is for another reader'],
  ['asker', 'azp', 'another client asked for it'],
  ['challenge', 'challenge', 'it answers another challenge'],
  ['kind', 'kind', 'it is of another kind'],
  ['claimed', 'claimed', 'it is about another person'],
  ['galleryId', 'gallery_id', 'it is of another gallery'],
  ['galleryName', 'gallery_name', 'it is of another gallery'],
];

// A demand that is misspelt, or that a mistake of the app has left empty, would be none at all.
function checkDemands(demands) {
  for (const [demand, value] of Object.entries(demands)) {
    if (!kDemands.some(([name]) => name === demand)) wrong(`${demand}: unknown demand; use ${kDemands.map(([name]) => name).join(', ')}`);
    if (typeof value !== 'string' || value === '') wrong(`${demand}: give a text that is not empty, or leave it out`);
  }
}

async function keyOf({kty, crv, x, y}, algorithm) {
  if (!globalThis.crypto?.subtle) throw new HeftError('UNIMPLEMENTED', 'WebCrypto is missing here: load the page over https');
  try {
    return await crypto.subtle.importKey('jwk', {kty, crv, x, ...(y ? {y} : {})}, algorithm, false, ['verify']);
  } catch (error) {
    if (error.name === 'NotSupportedError') throw new HeftError('UNIMPLEMENTED', `signed with ${algorithm.name}, which this browser does not support`);
    return wrong(`keys: the key of the signature cannot be read (${error.message})`);
  }
}

// checkDecision: returns the claims that the decider signed, and no other members. `keys`: its
// JWKS, which the app must get from a trusted source. HeftError UNAUTHENTICATED if the decision is
// another decider's, for another party, changed, or too old.
export async function checkDecision(decision, options) {
  const {keys, now = Date.now() / 1000, leeway = 30, ...demands} = objectOf(options, 'options');
  if (!Array.isArray(keys?.keys)) wrong("keys: give the decider's JWKS, {keys: [...]}");
  if (!Number.isFinite(now) || !Number.isFinite(leeway)) wrong('now, leeway: give seconds');
  checkDemands(demands);
  const {header, claims, signed, signature} = parse(typeof decision === 'string' ? decision : decision?.jws);
  if (header.typ !== kType) refuse('the signed text is not a decision');
  const jwk = keys.keys.find((key) => key?.kid === header.kid);
  if (!jwk) refuse('none of the given keys has signed it');
  const algorithm = kAlgorithms[header.alg];
  const fits = header.alg === 'EdDSA' ? jwk.kty === 'OKP' && jwk.crv === 'Ed25519' : jwk.kty === 'EC' && jwk.crv === 'P-256';
  if (!algorithm || !fits || header.crit !== undefined) refuse(`signed with ${header.alg}, but the key is of another kind`);
  const key = await keyOf(jwk, algorithm);
  if (!await crypto.subtle.verify(algorithm, key, signature, signed)) refuse('the signature is false');
  for (const [demand, claim, why] of kDemands) {
    if (demand in demands && claims[claim] !== demands[demand]) refuse(why);
  }
  if (!(claims.exp + leeway >= now)) refuse('it has expired');
  if (!(claims.iat - leeway <= now)) refuse('it is from the future: is the clock right?');
  return claims;
}
