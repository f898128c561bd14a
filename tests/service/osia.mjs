// SPDX-License-Identifier: Apache-2.0
// Compares the table of OSIA's operations in docs/operations.md and our contract with OSIA's own document
// of the ABIS interface (src/doc/yaml/abis.yaml of github.com/SecureIdentityAlliance/osia, version 6 or 7).
// The table must name each of OSIA's operations once and no other. A served operation of the same name
// must have OSIA's method and path. Each success that we answer must be OSIA's, or be named in the table.
//
//   node osia.mjs ABIS_YAML HEFT_YAML OPERATIONS_MD
import {readFileSync} from 'node:fs';
import {bundle, createConfig} from '@redocly/openapi-core';

const [theirs, ours, page] = process.argv.slice(2);
const wrong = [];

// Operations by their names: method, path with parameters by position, codes of success.
async function read(file) {
  const {bundle: {parsed}} = await bundle({ref: file, config: await createConfig({}), dereference: true});
  const found = new Map();
  for (const [path, item] of Object.entries(parsed.paths)) {
    for (const method of ['get', 'post', 'put', 'delete'].filter((name) => item[name])) {
      const {operationId, responses} = item[method];
      found.set(operationId, {method, path: path.replaceAll(/\{[^}]*\}/g, '{}'), good: Object.keys(responses).filter((code) => /^2/.test(code))});
    }
  }
  return {operations: found, version: parsed.info.version};
}

// Rows of the table: OSIA's names, our name or null, the text of the difference.
function readTable() {
  const section = readFileSync(page, 'utf8').split(/^## /m).find((part) => part.startsWith('Conformance to OSIA'));
  return section.split('\n').filter((line) => /^\| `/.test(line)).map((line) => {
    const [, names, served, difference] = line.split('|').map((cell) => cell.trim());
    const words = (cell) => [...cell.matchAll(/`([A-Za-z]+)`/g)].map((match) => match[1]);
    return {names: words(names), later: names.includes('OSIA 7'), ours: words(served)[0] ?? null, difference};
  });
}

const osia = await read(theirs), heft = await read(ours), table = readTable();
const listed = table.flatMap((row) => row.names);
for (const name of osia.operations.keys()) {
  const count = listed.filter((one) => one === name).length;
  if (count !== 1) wrong.push(`${name}: ${count} rows in the table`);
}
let same = 0, served = 0;
for (const row of table) {
  for (const name of row.names) {
    const wanted = osia.operations.get(name);
    if (!wanted) {
      if (!row.later) wrong.push(`${name}: OSIA has no such operation`);
      continue;
    }
    if (row.ours === null) continue;
    ++served;
    const got = heft.operations.get(row.ours);
    if (!got) wrong.push(`${row.ours}: the contract has no such operation`);
    else if (row.ours === name) {
      ++same;
      if (got.method !== wanted.method || got.path !== wanted.path) wrong.push(`${name}: ${got.method} ${got.path} where OSIA has ${wanted.method} ${wanted.path}`);
      for (const code of got.good.filter((one) => !wanted.good.includes(one) && !row.difference.includes(one))) {
        wrong.push(`${name}: answers ${code}, OSIA ${wanted.good.join(', ')}, and the table does not say so`);
      }
    }
  }
}
console.log(`OSIA's ABIS interface ${osia.version}: ${osia.operations.size} operations, ${served} served, ${same} under their name, ${wrong.length} wrong`);
for (const text of wrong) console.log(text);
process.exit(wrong.length === 0 && osia.operations.size > 0 ? 0 : 1);
