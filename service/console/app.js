// SPDX-License-Identifier: Apache-2.0
// The console of both services. The service's answers determine which pages exist.
import {maybe} from './api.js';
import {h} from './view.js';
import {pages} from './pages.js';

const kRefresh = 5000;
const main = document.getElementById('main');
const notice = document.getElementById('notice');
const ask = document.getElementById('ask');
let shown = 0; // counts renderings: an answer that comes too late is dropped
let offered = [];
let timer = null;

export function say(text, good = false) {
  notice.textContent = text;
  notice.classList.toggle('said', good);
  notice.hidden = text === '';
}

// confirmed: whether the user confirmed.
export function confirmed(title, text, yes, danger = false) {
  document.getElementById('ask-title').textContent = title;
  document.getElementById('ask-text').textContent = text;
  const button = document.getElementById('ask-yes');
  button.textContent = yes;
  button.className = danger ? 'danger' : '';
  ask.returnValue = 'no';
  ask.showModal();
  return new Promise((resolve) => ask.addEventListener('close', () => resolve(ask.returnValue === 'yes'), {once: true}));
}

function current() {
  const [name, query] = location.hash.slice(1).split('?');
  const page = offered.find((p) => p.name === name) ?? offered[0];
  return {page, query: new URLSearchParams(query ?? '')};
}

// go: opens another page, or the same page with other parameters.
export function go(name, query = {}) {
  const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  const hash = `#${name}${words.size ? `?${words}` : ''}`;
  if (location.hash === hash) render();
  else location.hash = hash;
}

function showNavigation(page, waiting) {
  const nav = document.getElementById('nav');
  nav.replaceChildren(...offered.map((p) => h('a', {href: `#${p.name}`, 'aria-current': p === page ? 'page' : null}, p.title,
    p.name === 'admissions' && waiting > 0 ? h('span', {class: 'count', 'aria-label': `${waiting} pending`}, String(waiting)) : null)));
}

async function showHealth() {
  const pill = document.getElementById('ready');
  const health = await maybe('/health/ready').catch(() => null);
  const ready = health?.ready === true || health?.status === 'ready';
  pill.className = `pill ${ready ? 'good' : 'bad'}`;
  pill.textContent = health === null ? 'no answer' : ready ? 'ready' : 'not ready';
  pill.title = health?.message ?? health?.reason ?? '';
}

// render draws the page of the address. With `again` it draws the content anew, except where the
// user has begun an input.
async function render(again = false) {
  const mine = ++shown;
  clearTimeout(timer);
  const {page, query} = current();
  if (!page) return;
  document.title = `${page.title} – ${document.getElementById('service').textContent}`;
  showHealth();
  const waiting = page.name === 'admissions' ? null : await maybe('/v1/admissions?count=1').catch(() => null);
  if (mine !== shown) return;
  showNavigation(page, waiting?.total ?? waiting?.admissions?.length ?? 0);
  try {
    const content = await page.draw(query);
    if (mine !== shown) return;
    main.replaceChildren(h('h1', {}, page.title), ...[content].flat().filter((part) => part !== null));
    if (!again) { window.scrollTo(0, 0); }
    if (!notice.classList.contains('said')) say('');
  } catch (error) {
    if (mine !== shown) return;
    say(error.message);
  }
  if (page.live) timer = setTimeout(() => (document.hidden ? null : render(true)), kRefresh);
}

document.addEventListener('visibilitychange', () => { if (!document.hidden && current().page?.live) render(true); });
document.addEventListener('keydown', (event) => {
  const typing = event.target.matches?.('input:not([type=checkbox]), select, textarea');
  if (event.ctrlKey || event.altKey || event.metaKey || typing || ask.open) return;
  if (event.key === '/') {
    const search = main.querySelector('input[type=search]');
    if (search) { search.focus(); event.preventDefault(); }
  }
  const index = Number(event.key) - 1;
  if (index >= 0 && index < offered.length) go(offered[index].name);
});
window.addEventListener('hashchange', async () => { say(''); await render(); main.focus({preventScroll: true}); });

const about = await maybe('/v1/service').catch(() => null);
if (about === null) {
  say('The service cannot be reached, or this browser has no certificate for it.');
} else {
  const title = `HEFT ${about.service}`;
  document.getElementById('service').textContent = title;
  offered = pages.filter((p) => p.needs.every((need) => about.operations.includes(need)));
  await render();
}
