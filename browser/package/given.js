// SPDX-License-Identifier: Apache-2.0
// Checks of an app's arguments: an error is a HeftError like all others, before any data is sent.
import {HeftError} from './errors.js';

export function wrong(what) {
  throw new HeftError('INVALID_ARGUMENT', what);
}

// objectOf: an object with options, all of them optional.
export function objectOf(value, what) {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null) wrong(`${what}: give an object`);
  return value;
}

export function bytesOf(value, what) {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return wrong(`${what}: give a Uint8Array with the bytes of the file`);
}

export function textOf(value, what) {
  if (typeof value !== 'string') wrong(`${what}: give a text`);
  return value;
}

// percentEncoded: for a header, or with only the letters of encodeURIComponent.
export function percentEncoded(value, what) {
  try {
    return encodeURIComponent(textOf(value, what));
  } catch (error) {
    if (error instanceof HeftError) throw error;
    return wrong(`${what}: the text contains half of a surrogate pair`);
  }
}

// partOf: a name in a path. "." and ".." are steps there, encoded or not.
export function partOf(value, what) {
  const part = percentEncoded(value, what);
  if (part === '' || part === '.' || part === '..') wrong(`${what}: "${part}" cannot be part of an address`);
  return part;
}
