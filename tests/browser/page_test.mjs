// SPDX-License-Identifier: Apache-2.0
// The steps that page_test.sh runs in a browser.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {request} from 'node:http';
import {join} from 'node:path';
import {parseArgs} from 'node:util';
import {chromium} from 'playwright-core';

const {values: options} = parseArgs({options: Object.fromEntries(
  ['browser', 'page', 'documentation', 'data', 'model', 'keys', 'native', 'work', 'screenshots'].map((name) => [name, {type: 'string'}]))});
if (options.screenshots) mkdirSync(options.screenshots, {recursive: true});
const browser = await chromium.launch({executablePath: options.browser, args: ['--no-sandbox']});
const labels = readFileSync(join(options.data, 'labels.txt'), 'utf8').trim().split('\n');
const kModalities = ['face', 'voice'];
const npy = (name) => join(options.data, `${name}.npy`);

// open: opens the page. The test fails at any error on it: of a script, or a file that the policy
// stops.
async function open({colorScheme = 'light', width = 1000} = {}, prepare = async () => {}) {
  const context = await browser.newContext({colorScheme, viewport: {width, height: 900}});
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  await prepare(page);
  await page.goto(options.page);
  await page.waitForSelector('#log li');
  return {page, context, complaints};
}

async function loadVectors(page) {
  for (const name of kModalities) await page.setInputFiles(`#file-${name}`, npy(name));
  await page.waitForFunction(() => [...document.querySelectorAll('button')].every((button) => !button.disabled));
}

const lastLine = (page, count) => page.waitForFunction((n) => document.querySelectorAll('#log li').length >= n && document.querySelector('#log li:last-child').textContent, count)
  .then((handle) => handle.jsonValue());

// A person enrolled with one sample is named by another sample. A stranger gets no name.
async function enrolAndIdentify() {
  const {page, context, complaints} = await open();
  assert.match(await lastLine(page, 1), /^ready in \d+ ms: the key owner has signed/);
  assert.match(await page.textContent('.note'), /extracts no features.*The app that uses HEFT/s);
  assert.equal(await page.isDisabled('#enrol button'), true, 'without vectors');
  await loadVectors(page);
  let lines = 1;
  for (const row of [0, 4, 8]) {
    await page.fill('#row', String(row));
    await page.fill('#person', `person-${labels[row]}`);
    await page.click('#enrol button');
    lines += 2;
    assert.match(await lastLine(page, lines), /is enrolled: the key owner has approved/);
  }
  await page.fill('#row', '5');
  await page.click('#identify button');
  await page.waitForSelector('#decision:not([hidden])');
  assert.equal(await page.textContent('#decision strong'), `person-${labels[5]}`);
  assert.equal(await page.getAttribute('#decision', 'class'), 'accept');
  assert.match(await page.textContent('#decision'), /signature was checked/);
  if (options.screenshots) await page.screenshot({path: join(options.screenshots, 'accepted.png'), fullPage: true});
  await page.fill('#row', '101');
  await page.click('#identify button');
  await page.waitForFunction(() => document.querySelector('#decision strong')?.textContent === 'No enrolled person');
  assert.equal(await page.getAttribute('#decision', 'class'), 'reject');
  // An error is shown, and the page works on.
  await page.fill('#row', '100000');
  await page.click('#identify button');
  await page.waitForSelector('#log li.bad');
  assert.match(await page.textContent('#log li.bad'), /there is no row 100000/);
  await page.setInputFiles('#file-face', {name: 'face.json', mimeType: 'application/json', buffer: Buffer.from('[[1, 2, 3]]')});
  await page.waitForFunction(() => /dimension 3, but the model takes 128/.test(document.getElementById('files').textContent));
  assert.equal(await page.isDisabled('#identify button'), true);
  assert.deepEqual(complaints, []);
  await context.close();
}

// exampleOf: the only block of JavaScript on a page of the documentation.
function exampleOf(page) {
  const blocks = [...readFileSync(join(options.documentation, page), 'utf8').matchAll(/^```javascript\n(.*?)^```$/gms)];
  assert.equal(blocks.length, 1, page);
  return blocks[0][1];
}

// Runs the example of docs/browser.md unchanged, with the variables that it takes for granted.
async function followTheDocumentation() {
  const {page, context, complaints} = await open();
  const code = exampleOf('docs/browser.md').replace(/import (\{.*\}) from 'heft-client';/, "const $1 = await import('/heft/index.js');");
  assert.match(code, /checkDecision\(decision/);
  const npyOf = (name) => readFileSync(npy(name)).toString('base64');
  const believed = await page.evaluate(`(async () => {
    const {rowsOf} = await import('/npy.js');
    const rowOf = (text) => {
      const {dimension, values} = rowsOf(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), 'vectors');
      return values.slice(40 * dimension, 41 * dimension);
    };
    const face = rowOf('${npyOf('face')}'), voice = rowOf('${npyOf('voice')}');
    const trust = await (await fetch('/trust.heft')).text(), keys = await (await fetch('/decision-keys.json')).json();
    ${code}
    return believed;
  })()`);
  assert.equal(believed.accepted, true);
  assert.equal(believed.identity, 'ann');
  assert.deepEqual(complaints, []);
  await context.close();
}

// Takes pictures in both colour schemes, and at the width of a phone.
async function look() {
  for (const [colorScheme, width] of [['light', 1000], ['dark', 1000], ['light', 380]]) {
    const {page, context, complaints} = await open({colorScheme, width});
    await loadVectors(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, `${wide} pixels wider than ${width}`);
    if (options.screenshots) await page.screenshot({path: join(options.screenshots, `page-${colorScheme}-${width}.png`), fullPage: true});
    assert.deepEqual(complaints, []);
    await context.close();
  }
}

// Files made by this browser decrypt natively. Also compares the time with the native library, run
// by run.
async function encryptHere() {
  const {page, context} = await open();
  const read = (...path) => readFileSync(join(...path)).toString('base64');
  await page.evaluate(async ([model, key, face]) => {
    const {Heft} = await import('/heft/index.js');
    const {rowsOf} = await import('/npy.js');
    const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const rows = rowsOf(bytes(face), 'face');
    window.client = await Heft.client({model: bytes(model), encryptionKey: bytes(key)});
    window.vector = rows.values.slice(0, rows.dimension);
  }, [readFileSync(options.model).toString('base64'), read(options.keys, 'encryption.key'), read(npy('face'))]);
  for (const use of ['enrolment', 'identification']) {
    const spec = [options.model, join(options.keys, 'encryption.key'), 'compact', use, '0', `face=${npy('face')}`];
    const made = await page.evaluate(async (what) => {
      const file = await window.client.encrypt('face', window.vector, {use: what});
      return btoa(Array.from(file, (byte) => String.fromCharCode(byte)).join(''));
    }, use);
    const path = join(options.work, `${use}.ct`);
    writeFileSync(path, Buffer.from(made, 'base64'));
    execFileSync(options.native, ['open', ...spec, join(options.keys, 'secret.key'), path]);
    const here = [], native = [];
    for (let i = 0; i < 5; ++i) {
      native.push(Number(execFileSync(options.native, ['time', ...spec])) / 1000);
      here.push(await page.evaluate(async (what) => {
        let least = Infinity;
        for (let j = 0; j < 20; ++j) {
          const begin = performance.now();
          await window.client.encrypt('face', window.vector, {use: what});
          least = Math.min(least, performance.now() - begin);
        }
        return least;
      }, use));
    }
    const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    console.log(`${use}: ${median(here).toFixed(1)} ms in Chromium, ${median(native).toFixed(2)} ms native`);
  }
  await context.close();
}

// A worker without randomness encrypts nothing and reports an error.
async function withoutRandomness() {
  for (const stub of ['crypto.getRandomValues = (bytes) => bytes;', "crypto.getRandomValues = () => { throw new Error('none'); };",
    "Object.defineProperty(self, 'crypto', {value: undefined});"]) {
    const {page, context} = await open({}, (made) => made.route('**/heft/core.js', async (route) => {
      const response = await route.fetch();
      await route.fulfill({response, body: `${await response.text()}\n${stub}`});
    }));
    assert.match(await lastLine(page, 1), /getRandomValues gives no randomness.*UNAVAILABLE/);
    assert.equal(await page.locator('input[type=file]').count(), 0);
    await context.close();
  }
}

// A missing or damaged module gives no client.
async function withoutModule() {
  for (const answer of [(route) => route.abort(), (route) => route.fulfill({body: 'no module', contentType: 'application/wasm'})]) {
    const {page, context} = await open({}, (made) => made.route('**/heft.wasm', answer));
    assert.match(await lastLine(page, 1), /INTERNAL/);
    assert.equal(await page.locator('input[type=file]').count(), 0);
    await context.close();
  }
}

// statusOf: the status of a request to the demonstration's server. The path is sent unchanged.
function statusOf(method, path, headers = {}, body = undefined) {
  const {port} = new URL(options.page);
  return new Promise((resolve, reject) => {
    const asked = request({host: '127.0.0.1', port, method, path, headers: {host: `localhost:${port}`, ...headers}}, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

// A page of another site gets nothing from the demonstration's server, under any host name. No page
// gets files that the demonstration does not ask for.
async function strangersGetNothing() {
  assert.equal(await statusOf('GET', '/v1/model'), 200);
  assert.equal(await statusOf('GET', '/v1/model', {host: `heft.example:${new URL(options.page).port}`}), 403);
  assert.equal(await statusOf('GET', '/v1/model', {origin: 'https://heft.example'}), 403);
  for (const path of ['/v1/persons?gallery=visitors', '/v1/audit-log', '/v1/model/../audit-log', '/serve.mjs', '/../serve.mjs', '/heft/node.js']) {
    assert.equal(await statusOf('GET', path), 404, path);
  }
  for (const path of ['/v1/identify/visitors?callback=https://heft.example', '/v1/identify/..', '/v1/verify/%2e%2e/galleries', '/v1/galleries']) {
    assert.equal(await statusOf('POST', path, {'content-length': '0'}), 404, path);
  }
  assert.equal(await statusOf('DELETE', '/v1/persons/person-0'), 404);
  assert.equal(await statusOf('POST', '/v1/identify/visitors', {}, Buffer.alloc((8 << 20) + 1)), 413);
}

await enrolAndIdentify();
await followTheDocumentation();
await look();
await withoutRandomness();
await withoutModule();
await strangersGetNothing();
await encryptHere();
await browser.close();
console.log('the page in Chromium: three enrolled, one identified, a stranger is nobody');
