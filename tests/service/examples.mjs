// SPDX-License-Identifier: Apache-2.0
// Checks the examples of the contract: every parameter, request body, answer and header of every
// operation has one, and it conforms to its schema. The example of a file names its kinds, which
// the page of file formats must know. The table of OSIA's operations names operations that exist.
//
//   node examples.mjs HEFT_YAML FORMATS_MD OPERATIONS_MD
import {readFileSync} from 'node:fs';
import {readContract} from './contract_document.mjs';

const [contract, formats, page] = process.argv.slice(2);
const {operations, problems, check} = await readContract(contract);
const wrong = [...problems];
const say = (text) => wrong.push(text);

const kinds = new Set(readFileSync(formats, 'utf8').match(/^\| (`[A-Z]{4}`(, )?)+/gm).join().match(/[A-Z]{4}/g));

// files: all values in `value` that the schema calls a file.
function files(schema, value) {
  if (schema.format === 'binary') return [value];
  if (Array.isArray(value)) return value.flatMap((one) => files(schema.items ?? {}, one));
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, one]) => files(schema.properties?.[name] ?? {}, one));
}

// checkExamples: of a parameter, a header or a media type.
let checked = 0;
function checkExamples(name, of) {
  const values = Object.values(of.examples ?? {}).map((example) => example.value);
  if (of.example !== undefined) values.push(of.example);
  if (values.length === 0) say(`${name}: has no example`);
  for (const value of values) {
    ++checked;
    const problem = check(of.schema, value);
    if (problem) say(`${name}: ${problem}: ${JSON.stringify(value).slice(0, 200)}`);
    for (const file of files(of.schema, value)) {
      const named = String(file).match(/^[A-Z]{4}|(?<= of )[A-Z]{4}/g) ?? [];
      if (named.length === 0 || !named.every((kind) => kinds.has(kind))) say(`${name}: "${file}": no kind of file`);
    }
  }
}

function checkContents(name, contents) {
  for (const [media, content] of Object.entries(contents ?? {})) checkExamples(`${name} ${media}`, content);
}

function checkOperation(operation) {
  const name = operation.operationId;
  for (const parameter of operation.parameters ?? []) checkExamples(`${name} ${parameter.name}`, parameter);
  checkContents(`${name} request`, operation.requestBody?.content);
  for (const [status, response] of Object.entries(operation.responses)) {
    checkContents(`${name} ${status}`, response.content);
    for (const [header, about] of Object.entries(response.headers ?? {})) checkExamples(`${name} ${status} ${header}`, about);
  }
  for (const callback of Object.values(operation.callbacks ?? {})) {
    for (const path of Object.values(callback)) Object.values(path).forEach(checkOperation);
  }
}

operations.forEach(checkOperation);

const rows = readFileSync(page, 'utf8').split('\n| OSIA |')[1]?.split('\n\n')[0].split('\n').slice(2) ?? [];
if (rows.length === 0) say(`${page} has no table of OSIA's operations`);
for (const row of rows) {
  const ours = row.split('|')[2].trim();
  if (ours !== 'not served' && !operations.some((o) => `\`${o.operationId}\`` === ours)) say(`${page}: no operation ${ours}`);
}

console.log(`${operations.length} operations, ${checked} examples, ${wrong.length} wrong`);
for (const text of [...new Set(wrong)].slice(0, 60)) console.log(text);
process.exit(wrong.length === 0 && operations.length > 0 && kinds.size > 0 ? 0 : 1);
