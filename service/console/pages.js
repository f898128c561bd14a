// SPDX-License-Identifier: Apache-2.0
// The pages: the operations that each needs, and its drawing function.
import {call, get, maybe} from './api.js';
import {bars, day, figure, h, lines, milliseconds, number, short, table, time} from './view.js';
import {confirmed, go, say} from './app.js';

const kPage = 50, kNames = 3;

const legend = (...names) => h('div', {class: 'legend'}, names.map((name, i) => h('span', {}, h('i', {class: i ? 'b' : ''}), name)));

// ---- Overview: health, throughput, latency, key age.
async function overview() {
  const [facts, traffic] = await Promise.all([maybe('/v1/status'), maybe('/v1/traffic')]);
  const cards = (facts?.facts ?? []).map((f) => figure(f.label, f.value, f.note, f.warning));
  if (traffic === null) return [h('div', {class: 'cards'}, cards), h('p', {class: 'lead'}, 'This certificate cannot show throughput: it needs the role operator.')];
  const minutes = traffic.minutes, all = traffic.total;
  const value = (v) => (v === null ? '–' : milliseconds(v));
  cards.push(figure('Requests, last hour', number(all.requests), `${number(minutes.at(-2)?.requests ?? 0)} in the last whole minute`),
    figure('Refused or failed', number(all.errors), `${number(all.failures)} failures of the service`, all.failures > 0),
    figure('Latency, median', value(all.p50_ms), `99 % below ${value(all.p99_ms)}`));
  return [h('div', {class: 'cards'}, cards),
    h('div', {class: 'two'},
      h('section', {class: 'card'}, h('h2', {}, 'Requests a minute'), bars(minutes, (m) => m.requests, 'Requests a minute in the last hour')),
      h('section', {class: 'card'}, h('h2', {}, 'Latency'), lines(minutes, (m) => m.p50_ms, (m) => m.p99_ms, 'Latency in the last hour'), legend('median', '99 %'))),
    h('section', {class: 'card'}, h('h2', {}, 'Operations, last hour'), table([
      {label: 'Operation', cell: (o) => h('code', {}, o.operation)},
      {label: 'Requests', number: true, cell: (o) => number(o.requests)},
      {label: 'Refused', number: true, cell: (o) => number(o.errors - o.failures)},
      {label: 'Failed', number: true, cell: (o) => number(o.failures)},
      {label: 'Median', number: true, cell: (o) => value(o.p50_ms)},
      {label: '99 %', number: true, cell: (o) => value(o.p99_ms)},
    ], traffic.operations, 'No requests in the last hour.'))];
}

// ---- Galleries.
async function galleries() {
  const {galleries: rows} = await get('/v1/galleries');
  return h('section', {class: 'card'}, table([
    {label: 'Gallery', cell: (g) => h('a', {href: `#persons?gallery=${encodeURIComponent(g.name)}`}, g.name)},
    {label: 'Templates', number: true, cell: (g) => number(g.templates)},
    {label: 'Pending', number: true, cell: (g) => number(g.pending)},
    {label: 'Leaving', number: true, cell: (g) => number(g.leaving)},
    {label: 'Generation', number: true, cell: (g) => number(g.generation)},
    {label: 'Key since', cell: (g) => day(g.key_since)},
    {label: 'Verified', cell: (g) => (g.verified ? h('span', {class: `pill ${g.intact ? 'good' : 'bad'}`}, `${g.intact ? 'intact' : 'damaged'}, ${day(g.verified)}`) : h('span', {class: 'pill warn'}, 'never'))},
    {label: 'Id', cell: (g) => short(g.gallery_id)},
  ], rows, 'There is no gallery yet.'));
}

// pairs: metadata, each "key=value"; a key may repeat.
const pairs = (metadata) => metadata.join(', ');

// ---- People: one line per template, paged, with search.
async function persons(query) {
  const listed = await get('/v1/galleries');
  const names = listed.galleries.map((g) => g.name);
  const gallery = query.get('gallery') || names[0] || '';
  const search = query.get('search') ?? '', cursor = query.get('cursor') ?? '';
  const words = new URLSearchParams({gallery, count: kPage, ...(search && {search}), ...(cursor && {cursor})});
  const found = gallery ? await get(`/v1/persons?${words}`) : {persons: []};
  const choose = h('select', {name: 'gallery', onchange: (e) => go('persons', {gallery: e.target.value, search})},
    names.map((name) => h('option', {value: name, selected: name === gallery}, name)));
  const field = h('input', {type: 'search', name: 'search', value: search, placeholder: 'part of a name', autocomplete: 'off'});
  const form = h('form', {class: 'bar', role: 'search', onsubmit: (e) => { e.preventDefault(); go('persons', {gallery, search: field.value}); }},
    h('label', {class: 'field'}, 'Gallery', choose), h('label', {class: 'field'}, 'Search (/)', field), h('button', {}, 'Search'));
  return [form, h('section', {class: 'card'}, table([
    {label: 'Person', cell: (p) => p.personId},
    {label: 'Enrolled', cell: (p) => time(p.enrolled)},
    {label: 'Expires', cell: (p) => (p.expires ? day(p.expires) : 'never')},
    {label: 'Metadata', cell: (p) => pairs(p.metadata), wide: true},
  ], found.persons, search ? `No name contains “${search}”.` : 'No person is enrolled in this gallery.')),
  h('div', {class: 'buttons'},
    h('button', {class: 'plain', disabled: !cursor, onclick: () => history.back()}, 'Back'),
    h('button', {class: 'plain', disabled: !found.next, onclick: () => go('persons', {gallery, search, cursor: found.next})}, 'Next'))];
}

// ---- Try a search: a probe that `heft encrypt` made is searched for, or compared with one person.
async function askWith(gallery, person, files) {
  const form = new FormData();
  for (const file of files) form.append('template', new Blob([file], {type: 'application/vnd.heft'}), file.name);
  const place = person ? `verify/${encodeURIComponent(gallery)}/${encodeURIComponent(person)}` : `identify/${encodeURIComponent(gallery)}`;
  const from = performance.now();
  const said = await call('POST', `/v1/${place}`, form);
  return {...said, took: performance.now() - from};
}

function answered(said) {
  const {accepted} = said;
  const [rate] = Object.entries(said.rule);
  return h('div', {class: 'cards', role: 'status'},
    figure('Decision', accepted ? 'accept' : 'reject', accepted ? `likelihood ${said.likelihood || 'not stated'}` : '', !accepted),
    figure('Person', accepted ? said.identity : '–', said.claimed ? `claimed: ${said.claimed}` : ''),
    figure('Threshold', `${rate[0].toUpperCase()} ${rate[1]}`, `probe of ${said.modalities.join(' and ')}`),
    figure('Answered in', milliseconds(said.took), `generation ${said.generation} of the gallery`));
}

async function search() {
  const listed = await maybe('/v1/galleries');
  const about = listed?.galleries.map((g) => g.name) ?? [];
  const gallery = h('input', {name: 'gallery', required: true, autocomplete: 'off', value: about[0] ?? ''});
  const person = h('input', {name: 'person', autocomplete: 'off', placeholder: 'empty: search everybody'});
  const files = h('input', {type: 'file', name: 'probe', multiple: true, required: true});
  const button = h('button', {}, 'Search');
  const result = h('div', {});
  const ask = async (event) => {
    event.preventDefault();
    say('');
    button.disabled = true;
    result.replaceChildren(h('p', {class: 'empty'}, 'The gallery is being matched.'));
    try {
      result.replaceChildren(answered(await askWith(gallery.value, person.value, files.files)));
    } catch (error) {
      result.replaceChildren();
      say(error.message);
    }
    button.disabled = false;
  };
  return [h('p', {class: 'lead'}, 'Choose the encrypted probe: one file for each modality, made by ', h('code', {}, 'heft encrypt --for identification'),
    ', or ', h('code', {}, '--for verification'), ' with a person. A search is recorded and counts towards the limits. It needs the role client.'),
  h('form', {class: 'bar', onsubmit: ask}, h('label', {class: 'field'}, 'Gallery', gallery), h('label', {class: 'field'}, 'Person', person),
    h('label', {class: 'field'}, 'Probe', files), button), result];
}

// ---- Admissions: the decider's queue, where a person decides; the matcher shows pending enrolments.
async function decide(chosen, word) {
  const people = chosen.reduce((sum, entry) => sum + (entry.size ?? 1), 0);
  const verb = word === 'approve' ? 'Approve' : 'Reject';
  const yes = await confirmed(`${verb} ${people === 1 ? 'one person' : `${people} people`}?`,
    word === 'approve' ? 'They can be found once the matcher has asked again. Their norms are still checked.' : 'Their templates are deleted. They can be enrolled again.',
    verb, word === 'reject');
  if (!yes) return;
  try {
    for (const gallery of new Set(chosen.map((entry) => entry.gallery))) {
      const entries = chosen.filter((entry) => entry.gallery === gallery).map((entry) => entry.entry);
      await call('POST', `/v1/admissions/${gallery}`, {[word]: entries});
    }
    say(`${people === 1 ? 'One person' : `${people} people`} ${word === 'approve' ? 'approved' : 'rejected'}.`, true);
  } catch (error) {
    say(error.message);
  }
  go('admissions');
}

function names(entry) {
  const people = (entry.people ?? []).map((p) => p.identity);
  const hidden = (entry.size ?? people.length) - people.length;
  const rest = hidden > 0 ? ` and ${number(hidden)} more` : '';
  if (people.length <= kNames) return people.join(', ') + rest;
  return h('details', {}, h('summary', {}, `${people.slice(0, kNames).join(', ')} and ${number(people.length - kNames + hidden)} more`),
    people.slice(kNames).join(', ') + rest);
}

function marks(entry) {
  const people = entry.people ?? [];
  const known = people.some((p) => p.enrolled);
  const rival = people.find((p) => !p.enrolled && p.others > 0);
  if (rival) return h('span', {class: 'pill warn'}, `${rival.identity}: also in another enrolment`);
  if (!known) return h('span', {class: 'pill'}, 'new');
  return h('span', {class: `pill ${entry.authorised ? 'good' : 'warn'}`}, entry.authorised ? 'enrolled, authorised' : 'already enrolled');
}

async function admissions(query) {
  const cursor = query.get('cursor') ?? '';
  const found = await get(`/v1/admissions?${new URLSearchParams({count: kPage, ...(cursor && {cursor})})}`);
  const about = await get('/v1/service');
  const decides = about.operations.includes('decideAdmissions');
  const boxes = new Map();
  const chosen = () => found.admissions.filter((entry) => boxes.get(entry)?.checked);
  const buttons = ['approve', 'reject'].map((word) => h('button', {class: word === 'reject' ? 'danger' : '', disabled: true, onclick: () => decide(chosen(), word)}, word === 'approve' ? 'Approve' : 'Reject'));
  const changed = () => buttons.forEach((b) => { b.disabled = chosen().length === 0; });
  for (const entry of found.admissions) {
    boxes.set(entry, h('input', {type: 'checkbox', onchange: changed, 'aria-label': `choose ${(entry.people ?? []).map((p) => p.identity).join(', ')}`}));
  }
  const all = h('button', {class: 'plain', onclick: () => {
    const on = chosen().length < found.admissions.length;
    for (const box of boxes.values()) box.checked = on;
    changed();
  }}, 'Choose all');
  const columns = [
    ...(decides ? [{label: 'Choose', cell: (e) => boxes.get(e)}] : []),
    {label: 'People', cell: names, wide: true},
    {label: 'Gallery', cell: (e) => e.gallery_name || (e.gallery?.length === 32 ? short(e.gallery) : e.gallery)},
    {label: 'Status', cell: marks},
    {label: 'Sent by', cell: (e) => (e.client ? (/^[0-9a-f]{64}$/.test(e.client) ? short(e.client) : e.client) : 'not signed')},
    {label: 'Pending since', cell: (e) => time(e.received)},
  ];
  const more = found.more > 0 ? ` ${number(found.more)} more will be shown when these are decided.` : '';
  return [h('p', {class: 'lead'}, found.total ? `${number(found.total)} pending ${found.total === 1 ? 'enrolment' : 'enrolments'}.${more}` : ''),
    h('section', {class: 'card'}, table(columns, found.admissions, 'No pending enrolments.'),
      decides && found.admissions.length > 0 ? h('div', {class: 'buttons'}, all, buttons) : null),
    found.next ? h('div', {class: 'buttons'}, h('button', {class: 'plain', onclick: () => go('admissions', {cursor: found.next})}, 'Next')) : null];
}

// ---- Budget: openings under this key.
async function budget() {
  const use = await get('/v1/budget');
  return [h('div', {class: 'cards'},
    figure('Replies opened', number(use.openings), `${number(use.identifications)} searches, ${number(use.verifications)} verifications`),
    figure('Accepted decisions on one person', `${number(use.decisions)}`, `at most; limit ${number(use.limits.decisions)}, and as many again per day`),
    figure('Scores of one person', `${number(use.scores)} of ${number(use.limits.scores)}`, 'at most; never restored', use.scores >= use.limits.scores),
    figure('Journal', number(use.entries), `entries, last ${time(use.last_entry)}`),
    figure('Restarts of the journal', number(use.restart_count), 'by hand', use.restart_count > 0)),
  h('section', {class: 'card'}, h('h2', {}, 'Clients'), table([
    {label: 'Client', cell: (c) => (c.client ? short(c.client) : 'unlisted')},
    {label: 'Replies', number: true, cell: (c) => number(c.openings)},
    {label: 'Bits left', number: true, cell: (c) => number(c.bits_left)},
    {label: 'Full again at', cell: (c) => time(c.full_at)},
    {label: 'Rejections left', number: true, cell: (c) => number(c.rejections_left)},
  ], use.clients, 'Nothing has been opened yet.'))];
}

// ---- Audit log: newest first.
async function audit(query) {
  const head = await get('/v1/audit-log/head');
  const last = Math.min(Number(query.get('last') ?? head.lines), head.lines);
  const from = Math.max(last - kPage + 1, 1);
  const page = last > 0 ? await get(`/v1/audit-log?from=${from}&count=${last - from + 1}`) : {lines: []};
  const known = ['seq', 'time', 'prev', 'event', 'operation', 'principal', 'who', 'status', 'hash'];
  const details = (line) => Object.entries(line).filter(([key]) => !known.includes(key)).map(([key, value]) => `${key} ${typeof value === 'object' ? JSON.stringify(value) : value}`).join(', ');
  const status = (line) => (line.status === undefined ? '–' : h('span', {class: `pill ${line.status < 400 ? 'good' : 'warn'}`}, String(line.status)));
  return [h('p', {class: 'lead'}, `${number(head.lines)} lines; head `, h('code', {}, head.hash)),
    h('section', {class: 'card'}, table([
      {label: 'Line', number: true, cell: (l) => String(l.seq)},
      {label: 'Time', cell: (l) => (typeof l.time === 'number' ? time(l.time) : String(l.time).slice(0, 19).replace('T', ' '))},
      {label: 'What', cell: (l) => l.operation ?? l.event},
      {label: 'Who', cell: (l) => l.who ?? l.principal},
      {label: 'Status', cell: status},
      {label: 'Details', wide: true, cell: (l) => h('span', {class: 'mono'}, details(l))},
    ], page.lines.reverse(), 'The audit log is empty.')),
    from > 1 ? h('div', {class: 'buttons'}, h('button', {class: 'plain', onclick: () => go('audit', {last: String(from - 1)})}, 'Older')) : null];
}

export const pages = [
  {name: 'overview', title: 'Overview', needs: [], draw: overview, live: true},
  {name: 'galleries', title: 'Galleries', needs: ['listGalleries'], draw: galleries},
  {name: 'persons', title: 'People', needs: ['listPersons'], draw: persons},
  {name: 'search', title: 'Try a search', needs: ['identify', 'verifyFromId'], draw: search},
  {name: 'admissions', title: 'Admissions', needs: ['listAdmissions'], draw: admissions},
  {name: 'budget', title: 'Budget', needs: ['readBudget'], draw: budget},
  {name: 'audit', title: 'Audit log', needs: ['audit-log'], draw: audit},
];
