// SPDX-License-Identifier: Apache-2.0
// The steps that console_test.sh runs in a browser.
import {mkdirSync} from 'node:fs';
import {parseArgs} from 'node:util';
import assert from 'node:assert/strict';
import {chromium} from 'playwright-core';

const {values: options} = parseArgs({options: Object.fromEntries(
  ['browser', 'pki', 'probes', 'matching', 'deciding', 'screenshots'].map((name) => [name, {type: 'string'}]))});
if (options.screenshots) mkdirSync(options.screenshots, {recursive: true});
const browser = await chromium.launch({executablePath: options.browser, args: ['--no-sandbox']});
const kTitles = {overview: 'Overview', galleries: 'Galleries', persons: 'People', search: 'Try a search', admissions: 'Admissions', budget: 'Budget', audit: 'Audit log'};
const kKinds = [['light', 1200], ['dark', 1200], ['light', 400]];

// open: opens a page in a role's own browser. The test fails at any error on it: of a script, a
// file that the policy stops, an element that is wider than the window.
async function open(url, who, [colorScheme, width] = kKinds[0]) {
  const context = await browser.newContext({
    colorScheme, viewport: {width, height: 800}, ignoreHTTPSErrors: true, // the authority is a throw-away one
    clientCertificates: [{origin: url, certPath: `${options.pki}/${who}.pem`, keyPath: `${options.pki}/${who}.key`}],
  });
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // A role's forbidden requests are answered with 403, and the browser logs that.
    if (message.type() === 'error' && !/status of (403|503)/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(`${url}/console/`);
  await page.waitForSelector('nav a');
  return {page, context, complaints};
}

const links = (page) => page.$$eval('nav a', (all) => all.map((a) => a.getAttribute('href').slice(1)));

async function show(page, name) {
  await page.evaluate((hash) => { location.hash = hash; }, name);
  await page.waitForFunction(([hash, title]) => document.querySelector('nav a[aria-current]')?.getAttribute('href') === `#${hash}`
    && (document.querySelector('main h1')?.textContent === title || !document.getElementById('notice').hidden), [name, kTitles[name]]);
  await page.waitForLoadState('networkidle');
}

async function lookAtEverything(service, url, wanted) {
  for (const kind of kKinds) {
    const {page, context, complaints} = await open(url, 'operator', kind);
    assert.equal(await page.title(), `Overview – HEFT ${service}`);
    assert.deepEqual(await links(page), wanted);
    assert.match(await page.textContent('#ready'), /ready/);
    await show(page, 'overview');
    if (service === 'matcher') {  // words for one gallery, and for a store of less than a megabyte or more
      const facts = await page.textContent('main');
      assert.match(facts, /1 gallery(?!s)/);
      assert.match(facts, /\d (kB|MB)/);
      assert.doesNotMatch(facts, /\b0 MB/);
    }
    for (const name of wanted) {
      await show(page, name);
      assert.equal(await page.isVisible('#notice'), false, `${name}: ${await page.textContent('#notice')}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(wide <= 0, `${service} ${name} at ${kind[1]}: ${wide} pixels wider than the window`);
      if (options.screenshots) await page.screenshot({path: `${options.screenshots}/${service}-${name}-${kind.join('-')}.png`, fullPage: true});
    }
    assert.deepEqual(complaints, []);
    await context.close();
  }
}

// Uses only the keyboard: goes to the queue, chooses one, approves it; then rejects another one.
async function decideByKeyboard() {
  const {page, context, complaints} = await open(options.deciding, 'operator');
  await page.waitForFunction(() => document.querySelector('nav .count')?.textContent === '3', null, {timeout: 20000});
  await page.keyboard.press('2');
  await page.waitForSelector('input[type=checkbox]');
  const boxes = page.locator('input[type=checkbox]');
  assert.equal(await boxes.count(), 3);
  assert.equal(await page.isDisabled('button:has-text("Approve")'), true, 'nobody is chosen');
  for (const [word, left] of [['Approve', 2], ['Reject', 1]]) {
    await boxes.first().focus();
    await page.keyboard.press('Space');
    await page.locator(`main button:has-text("${word}")`).focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog[open]');
    if (options.screenshots) await page.screenshot({path: `${options.screenshots}/dialog-${word}.png`});
    await page.locator('#ask-yes').focus();
    await page.keyboard.press('Enter');
    await page.waitForFunction((count) => document.querySelectorAll('input[type=checkbox]').length === count, left);
    assert.match(await page.textContent('#notice'), /One person (approved|rejected)/);
  }
  // Answering no changes nothing.
  await boxes.first().check();
  await page.click('main button:has-text("Approve")');
  await page.keyboard.press('Escape');
  await page.waitForTimeout(200);
  assert.equal(await boxes.count(), 1);
  assert.deepEqual(complaints, []);
  await context.close();
}

// The matcher has the answers: one person is in the gallery, one waits.
async function seeWhoIsIn() {
  const {page, context, complaints} = await open(options.matching, 'operator');
  await show(page, 'persons');
  for (let i = 0; i < 100 && await page.locator('tbody tr').count() !== 1; ++i) {
    await page.waitForTimeout(200);
    await page.reload();
    await page.waitForSelector('main h1');
    await page.waitForLoadState('networkidle');
  }
  assert.equal(await page.locator('tbody tr').count(), 1);
  const name = await page.textContent('td[data-label=Person]');
  assert.match(name, /^person-/);
  await page.keyboard.press('/');
  await page.keyboard.type('nobody has this');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.empty');
  await page.fill('input[type=search]', name.slice(3));
  await page.keyboard.press('Enter');
  await page.waitForSelector('tbody tr');
  assert.equal(await page.textContent('td[data-label=Person]'), name);
  assert.deepEqual(complaints, []);
  await context.close();
}

// Tries a search with another sample of the person who was approved, as client and as operator.
async function trySearches() {
  const files = ['face', 'voice'].map((modality) => `${options.probes}/probe-${modality}.ct`);
  for (const [who, wanted] of [['client', /accept|reject/], ['operator', null]]) {
    const {page, context, complaints} = await open(options.matching, who);
    await show(page, 'search');
    await page.fill('input[name=gallery]', 'visitors');
    await page.setInputFiles('input[name=probe]', files);
    await page.click('main button:has-text("Search")');
    if (wanted === null) {
      await page.waitForSelector('#notice:not([hidden])');
      assert.match(await page.textContent('#notice'), /role/);
    } else {
      await page.waitForSelector('main .figure', {timeout: 60000});
      assert.match(await page.textContent('main .figure .value'), wanted);
      assert.match(await page.textContent('main'), /FPIR 0\.01/);
      if (options.screenshots) await page.screenshot({path: `${options.screenshots}/search.png`});
    }
    assert.deepEqual(complaints, []);
    await context.close();
  }
}

// A user without a role sees the reason, and nothing else.
async function othersAreShownNothing() {
  const {page, context} = await open(options.deciding, 'matcher');
  await show(page, 'budget');
  await page.waitForSelector('#notice:not([hidden])');
  assert.match(await page.textContent('#notice'), /role/);
  assert.equal(await page.locator('td').count(), 0);
  await context.close();
}

await decideByKeyboard();
await seeWhoIsIn();
await othersAreShownNothing();
await trySearches();
await lookAtEverything('matcher', options.matching, ['overview', 'galleries', 'persons', 'search', 'admissions', 'audit']);
await lookAtEverything('decider', options.deciding, ['overview', 'admissions', 'budget', 'audit']);
await browser.close();
console.log('the console: every page, light, dark and narrow; two decided by keyboard; a search');
