// SPDX-License-Identifier: Apache-2.0
// Checks the services against their contract: heft.yaml passes the linter, its operations are the
// programs' routes, and every recorded answer of the tests (service/openapi/recorder.h) conforms.
//
//   node contract.mjs HEFT_YAML RECORDS_FOLDER
import {readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {readContract} from './contract_document.mjs';

const [contract, folder] = process.argv.slice(2);
const {api, operations, problems, check} = await readContract(contract);
const wrong = [...problems];
const say = (text) => wrong.push(text);

// ---- The programs' routes.
function checkRoutes({routes, tag}) {
  for (const route of routes) {
    if (route.path.startsWith('/console')) continue;
    const found = operations.find((o) => o.method === route.method && o.path === route.path);
    const name = `${tag}: ${route.method} ${route.path}`;
    if (!found) say(`${name} is not in the contract`);
    else if (found.operationId !== route.operation) say(`${name} is ${route.operation}, the contract says ${found.operationId}`);
    else if (![tag, 'service'].includes(found.tags[0])) say(`${name} is the ${found.tags[0]}'s in the contract`);
    else if (route.signed !== found.parameters.some((p) => p.name === 'X-Heft-Nonce' && p.required)) say(`${name}: the contract and the program differ about X-Heft-Nonce`);
  }
  for (const o of operations) {
    if (o.tags[0] === tag && !routes.some((r) => r.operation === o.operationId)) say(`${tag} has no ${o.operationId}`);
  }
}

// ---- Answers.
const mediaOf = (type) => type.split(';')[0].trim();
let answers = 0;
const seen = new Set();
function checkAnswer(answer) {
  const path = answer.target.split('?')[0];
  if (path.startsWith('/console')) return; // files for people
  const operation = operations.find((o) => o.method === answer.method && o.pattern.test(path));
  if (!operation) {
    // A path that fits no route is answered by the server itself, with an Error.
    if (answer.status < 400) say(`${answer.method} ${path} is in no contract, and was answered ${answer.status}`);
    else if (check(api.components.schemas.Error, JSON.parse(answer.body))) say(`${answer.method} ${path}: ${answer.body} is no Error`);
    return;
  }
  const name = `${operation.operationId} ${answer.status} (${answer.method} ${answer.target})`;
  const status = String(answer.status);
  const response = operation.responses[status] ?? operation.responses[`${status[0]}XX`];
  if (!response) return say(`${name}: the contract knows no such status`);
  seen.add(`${operation.operationId} ${status}`);
  for (const [header, about] of Object.entries(response.headers ?? {})) {
    if (about.required && !(header.toLowerCase() in answer.headers)) say(`${name}: lacks ${header}`);
  }
  // A spent budget refills over a day or not at all, so a client must not ask again soon. So it is with a
  // fellow that asks for many parts of one file.
  const spent = ['decide', 'identify', 'openPart', 'verifyFromId'].includes(operation.operationId) &&
    /query budget is spent|was rejected \d+ times about|replies were opened under this key|for which this key's noise suffices|different answers about this file/.test(answer.body);
  if (answer.status === 429 && !spent && !('retry-after' in answer.headers)) say(`${name}: lacks Retry-After`);
  if (!response.content) return answer.bytes > 0 ? say(`${name}: has a body`) : undefined;
  const media = mediaOf(answer.type);
  const content = response.content[media];
  if (!content) return say(`${name}: ${media || 'no type'} is not in the contract`);
  if (!media.endsWith('json')) return;
  let body;
  try {
    body = JSON.parse(answer.body);
  } catch {
    return say(`${name}: no JSON`);
  }
  const problem = check(content.schema, body);
  if (problem) say(`${name}: ${problem}: ${answer.body.slice(0, 300)}`);
}

const tags = new Set();
for (const file of readdirSync(folder).filter((f) => f.endsWith('.jsonl'))) {
  for (const line of readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean)) {
    const record = JSON.parse(line);
    if (record.routes) {
      if (!tags.has(record.tag)) checkRoutes(record);
      tags.add(record.tag);
    } else {
      ++answers;
      checkAnswer(record);
    }
  }
}
for (const tag of ['matcher', 'decider']) if (!tags.has(tag)) say(`no routes of the ${tag} were recorded`);
const unseen = operations.filter((o) => o.tags[0] !== 'service' && ![...seen].some((s) => s.startsWith(`${o.operationId} 2`)));
for (const o of unseen) say(`no test has had a good answer of ${o.operationId}`);

console.log(`${operations.length} operations, ${answers} answers, ${seen.size} kinds of them, ${wrong.length} wrong`);
for (const text of [...new Set(wrong)].slice(0, 60)) console.log(text);
process.exit(wrong.length === 0 && answers > 0 ? 0 : 1);
