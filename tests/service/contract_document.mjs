// SPDX-License-Identifier: Apache-2.0
// The contract, heft.yaml, for the tests that read it: linted, without references, with a check of
// values against its schemas.
import {bundle, createConfig, lint} from '@redocly/openapi-core';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';

// readContract returns the document `api`, its `operations` and the linter's `problems`. Each operation
// has its path, method and all parameters; paths without names in braces come first. The function
// check(schema, value) returns the faults of a value as a text, or ''.
export async function readContract(file) {
  const config = await createConfig({extends: ['recommended-strict'], rules: {
    'security-defined': 'error',
    'operation-4xx-response': 'error',
    'no-server-example.com': 'off', // the document is for all servers
  }});
  const problems = (await lint({ref: file, config})).map(
    (problem) => `lint: ${problem.ruleId}: ${problem.message} (${problem.location[0]?.pointer ?? ''})`);
  const {bundle: {parsed: api}} = await bundle({ref: file, config, dereference: true});

  const ajv = new Ajv({strict: false, allErrors: true});
  addFormats(ajv);
  const compiled = new Map();
  const check = (schema, value) => {
    if (!compiled.has(schema)) compiled.set(schema, ajv.compile(schema));
    const validate = compiled.get(schema);
    return validate(value) ? '' : ajv.errorsText(validate.errors);
  };

  const operations = [];
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of ['get', 'put', 'post', 'delete']) {
      if (!item[method]) continue;
      const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`);
      const parameters = [...(item.parameters ?? []), ...(item[method].parameters ?? [])];
      operations.push({method: method.toUpperCase(), path, pattern, ...item[method], parameters});
    }
  }
  operations.sort((a, b) => a.path.split('{').length - b.path.split('{').length);
  return {api, operations, problems, check};
}
