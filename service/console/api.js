// SPDX-License-Identifier: Apache-2.0
// Requests to the service, and its answers. Every request that changes something carries a nonce
// and the time, so that it cannot be replayed.

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

function freshNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function advice(status) {
  if (status === 401) return ' Import an operator’s certificate into this browser, then reload the page.';
  if (status === 403) return ' The certificate of this browser has no role with this right.';
  return '';
}

// call: returns the JSON of a path; throws Refused. `body`: an object, sent as JSON, or a FormData.
export async function call(method, path, body) {
  const form = body instanceof FormData;
  const headers = {Accept: 'application/json', 'X-Heft-Nonce': freshNonce(), 'X-Heft-Time': String(Math.floor(Date.now() / 1000))};
  if (body !== undefined && !form) headers['Content-Type'] = 'application/json';
  if (method !== 'GET') headers['Idempotency-Key'] = freshNonce();
  let response;
  try {
    response = await fetch(path, {method, headers, body: body === undefined || form ? body : JSON.stringify(body), cache: 'no-store'});
  } catch {
    throw new Refused(0, 'UNREACHABLE', 'The service does not answer.');
  }
  const text = await response.text();
  let value = null;
  try {
    value = text === '' ? null : JSON.parse(text);
  } catch {
    throw new Refused(response.status, 'NO_JSON', `${path}: the answer is not JSON.`);
  }
  if (response.ok || (path === '/health/ready' && value !== null && 'ready' in value)) return value;
  throw new Refused(response.status, value?.code ?? '', (value?.message ?? `${path}: ${response.status}`) + advice(response.status));
}

export const get = (path) => call('GET', path);
// maybe: null if the path does not exist or this caller may not read it.
export const maybe = (path) => get(path).catch((error) => {
  if ([401, 403, 404, 405].includes(error.status)) return null;
  throw error;
});
