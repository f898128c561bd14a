// SPDX-License-Identifier: Apache-2.0
// The demonstration's own server: it serves the page and, on the same origin, forwards the page's
// few requests to heft-matcher, with certificates that stay here. It is a small example of an app's
// server: it listens only on loopback, and every program that reaches it may enrol.
//
//   node serve.mjs --package FOLDER --trust trust.heft --matcher URL --decider URL --authorities ca.pem \
//     --client NAME --registrar NAME [--port PORT]          NAME: a path without .pem and .key
import {readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {request} from 'node:https';
import {dirname, extname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';

const names = ['package', 'trust', 'matcher', 'decider', 'authorities', 'client', 'registrar', 'port'];
const {values: options} = parseArgs({options: Object.fromEntries(names.map((name) => [name, {type: 'string'}]))});
const here = dirname(fileURLToPath(import.meta.url));

const kTypes = {'.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.wasm': 'application/wasm'};
// The page runs only its own files, and sends data only to its own origin.
const kHeaders = {
  'Content-Security-Policy': "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; " +
    "style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
};
const kMaxBytes = 8 << 20;

const files = new Map([['/', 'index.html'], ...['app.js', 'npy.js', 'style.css'].map((name) => [`/${name}`, name])].map(([path, name]) => [path, join(here, name)]));
for (const name of ['index.js', 'client.js', 'errors.js', 'given.js', 'service.js', 'decision.js', 'worker.js', 'answer.js', 'core.js', 'heft.wasm']) {
  files.set(`/heft/${name}`, join(options.package, name));
}

// The requests that the page may make to the matcher, and the certificate for each.
const kRoutes = [
  ['GET', /^\/v1\/(model|encryption-key)$/, 'client'],
  ['POST', /^\/v1\/(identify\/[^/?#]+|verify\/[^/?#]+\/[^/?#]+)$/, 'client'],
  ['POST', /^\/v1\/persons\/[^/?#]+\/encounters(\?wait=\d+)?$/, 'registrar'],
];
// No path leads elsewhere (".." in any spelling): the forwarded path equals the checked one.
const isPlain = (path) => {
  const url = new URL(path, 'http://localhost');
  return url.pathname + url.search === path;
};

const ca = readFileSync(options.authorities);
const identities = Object.fromEntries(['client', 'registrar'].map((name) => [name, {cert: readFileSync(`${options[name]}.pem`), key: readFileSync(`${options[name]}.key`)}]));

// ask: a request to a service; a promise of {status, headers, body}.
function ask(base, method, path, who, headers, body) {
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, base), {method, headers, ca, ...identities[who]}, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => resolve({status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts)}));
      answer.on('error', reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

function bodyOf(incoming) {
  return new Promise((resolve, reject) => {
    const parts = [];
    let size = 0;
    incoming.on('data', (part) => {
      size += part.length;
      if (size <= kMaxBytes) parts.push(part);
      else reject(Object.assign(new Error('more than 8 MiB'), {status: 413}));
    });
    incoming.on('end', () => resolve(Buffer.concat(parts)));
    incoming.on('error', reject);
  });
}

const kept = ['accept', 'content-type', 'x-heft-nonce', 'x-heft-time', 'x-heft-audience', 'x-heft-challenge', 'idempotency-key'];
async function handOn(incoming, outgoing, who) {
  const headers = Object.fromEntries(kept.filter((name) => name in incoming.headers).map((name) => [name, incoming.headers[name]]));
  const body = incoming.method === 'POST' ? await bodyOf(incoming) : undefined;
  if (body) headers['content-length'] = body.length;
  const answer = await ask(options.matcher, incoming.method, incoming.url, who, headers, body);
  const back = Object.fromEntries(['content-type', 'etag', 'retry-after'].filter((name) => name in answer.headers).map((name) => [name, answer.headers[name]]));
  outgoing.writeHead(answer.status, {...kHeaders, ...back}).end(answer.body);
}

const decisionKeys = (await ask(options.decider, 'GET', '/v1/keys', 'client', {accept: 'application/jwk-set+json'})).body;
const trust = readFileSync(options.trust);

async function answer(incoming, outgoing) {
  const origin = `http://localhost:${server.address().port}`;
  // Another site's page, or a name that was made to point here, gets nothing.
  const foreign = incoming.headers.host !== new URL(origin).host || (incoming.headers.origin ?? origin) !== origin;
  if (foreign) return outgoing.writeHead(403, kHeaders).end();
  const file = files.get(incoming.url);
  if (incoming.method === 'GET' && file) return outgoing.writeHead(200, {...kHeaders, 'Content-Type': kTypes[extname(file)]}).end(readFileSync(file));
  if (incoming.method === 'GET' && incoming.url === '/trust.heft') return outgoing.writeHead(200, {...kHeaders, 'Content-Type': 'text/plain; charset=utf-8'}).end(trust);
  if (incoming.method === 'GET' && incoming.url === '/decision-keys.json') return outgoing.writeHead(200, {...kHeaders, 'Content-Type': 'application/json'}).end(decisionKeys);
  const route = isPlain(incoming.url) && kRoutes.find(([method, path]) => method === incoming.method && path.test(incoming.url));
  if (!route) return outgoing.writeHead(404, kHeaders).end();
  return handOn(incoming, outgoing, route[2]);
}

const server = createServer((incoming, outgoing) => {
  answer(incoming, outgoing).catch((error) => {
    console.error(`${incoming.method} ${incoming.url}: ${error.message}`);
    if (!outgoing.headersSent) outgoing.writeHead(error.status ?? 502, {...kHeaders, Connection: 'close'});
    outgoing.end();
  });
});
server.listen(Number(options.port ?? 0), '127.0.0.1', () => console.log(`http://localhost:${server.address().port}/`));
