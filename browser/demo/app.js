// SPDX-License-Identifier: Apache-2.0
// The demonstration: vectors from a file are encrypted here, and a service behind this origin
// enrols and identifies them.
import {Heft, Service, ask, checkDecision} from './heft/index.js';
import {rowsOf} from './npy.js';

const element = (id) => document.getElementById(id);
const gallery = document.location.hash.slice(1) || 'visitors';
const service = new Service(location.origin);
const loaded = new Map(); // modality: rows of a file
let client, keys;

function make(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function say(text, bad = false) {
  element('log').append(make('li', {className: bad ? 'bad' : '', textContent: text}));
}

// The vectors of the chosen row, one a modality.
function chosen() {
  const row = Number(element('row').value);
  return Object.fromEntries([...loaded].map(([modality, {rows, dimension, values}]) => {
    if (!Number.isInteger(row) || row < 0 || row >= rows) throw new Error(`${modality}: there is no row ${element('row').value}, the file has ${rows}`);
    return [modality, values.slice(row * dimension, (row + 1) * dimension)];
  }));
}

function offer() {
  const ready = client && loaded.size === client.model.modalities.length;
  for (const button of document.querySelectorAll('button')) button.disabled = !ready;
}

async function load(file, modality, hint) {
  loaded.delete(modality.name);
  try {
    const rows = rowsOf(new Uint8Array(await file.arrayBuffer()), file.name);
    if (rows.dimension !== modality.dimension) throw new Error(`${file.name}: vectors of dimension ${rows.dimension}, but the model takes ${modality.dimension}`);
    loaded.set(modality.name, rows);
    hint.textContent = `${rows.rows} vectors of dimension ${rows.dimension}`;
  } catch (error) {
    hint.textContent = error.message;
  }
  offer();
}

function fileChooser(modality) {
  const hint = make('span', {className: 'hint', textContent: `vectors of dimension ${modality.dimension}: .npy or JSON`});
  const input = make('input', {type: 'file', id: `file-${modality.name}`, accept: '.npy,.json'});
  input.addEventListener('change', () => input.files[0] && load(input.files[0], modality, hint));
  return make('label', {className: 'file'}, modality.name, input, hint);
}

// Runs the action of a button, and shows errors.
function onSubmit(form, act) {
  element(form).addEventListener('submit', async (event) => {
    event.preventDefault();
    for (const button of document.querySelectorAll('button')) button.disabled = true;
    try {
      await act();
    } catch (error) {
      say(error.kind ? `${error.message} (${error.kind})` : error.message, true);
    }
    offer();
  });
}

const kilobytes = (files) => `${Math.round(files.reduce((sum, file) => sum + file.length, 0) / 1000)} kB`;

async function enrol() {
  const person = element('person').value;
  const begin = performance.now();
  const files = await Promise.all(Object.entries(chosen()).map(([modality, vector]) => client.encrypt(modality, vector)));
  say(`encrypted ${files.length} samples for an enrolment in ${Math.round(performance.now() - begin)} ms: ${kilobytes(files)}`);
  const {others} = await service.enrol(person, files, {galleries: [gallery], wait: 20});
  say(`${person} is ${others.status === 'active' ? 'enrolled: the key owner has approved the template' : `not matched: ${others.status}`}`);
}

async function identify() {
  element('decision').hidden = true;
  const begin = performance.now();
  const challenge = crypto.randomUUID();
  const answer = await ask(client, service, gallery, chosen(), {challenge});
  const took = Math.round(performance.now() - begin);
  const decision = await checkDecision(answer, {keys, challenge, kind: 'identification'}); // show only signed claims
  say(`encrypted a probe, and received the decision after ${took} ms`);
  const {accepted} = decision;
  const rule = decision.rule.fpir === undefined ? '' : `of searches by strangers, at most ${decision.rule.fpir * 100} % return a name`;
  element('decision').replaceChildren(
    make('strong', {textContent: accepted ? decision.identity : 'No enrolled person'}),
    make('p', {textContent: [accepted && decision.likelihood ? `evidence: ${decision.likelihood}` : '', rule].filter(Boolean).join('; ')}),
    make('p', {className: 'hint', textContent: `signed by ${decision.iss}, valid until ${new Date(decision.exp * 1000).toLocaleTimeString()}; the signature was checked here`}));
  element('decision').className = accepted ? 'accept' : 'reject';
  element('decision').hidden = false;
}

async function start() {
  const json = async (path) => (await fetch(path)).json();
  const text = async (path) => (await fetch(path)).text();
  const [model, encryptionKey, trust, decisionKeys] = await Promise.all([service.model(), service.encryptionKey(), text('trust.heft'), json('decision-keys.json')]);
  keys = decisionKeys;
  const begin = performance.now();
  client = await Heft.client({model, encryptionKey, trust});
  say(`ready in ${Math.round(performance.now() - begin)} ms: the key owner has signed the encryption key`);
  element('files').replaceChildren(...client.model.modalities.map(fileChooser));
  element('facts').textContent = `Gallery ${gallery}. Model ${client.model.id}, profile ${client.model.profile}; kernels: ${client.model.instructions}.`;
  onSubmit('enrol', enrol);
  onSubmit('identify', identify);
}

start().catch((error) => say(error.kind ? `${error.message} (${error.kind})` : error.message, true));
