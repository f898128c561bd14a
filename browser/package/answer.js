// SPDX-License-Identifier: Apache-2.0
// A worker's answers to its messages: one client in each worker, call after call.
import {HeftError} from './errors.js';
import {open} from './core.js';

// The secrets in a message: the worker owns these copies, and wipes them after any result.
const secretsOf = {
  encrypt: ({modalities}) => modalities.map(([, values]) => values),
  signer: ({key}) => [key],
  sign: ({options}) => [options.key],
};

// Buffers that are transferred, not copied: a signing key, for example.
function handed(result) {
  const bytes = result instanceof Uint8Array ? result : result?.key;
  return bytes ? [bytes.buffer] : [];
}

// answering: a function that answers messages {id, call, values} with `reply(message, transfer)`.
// `load` returns the bytes of heft.wasm.
export function answering(load, reply) {
  let module = null, client = 0;
  const calls = {
    async open({model, encryptionKey, trust}) {
      module = await open(await load());
      const made = module.client({model, encryptionKey, trust});
      client = made.client;
      return made.model;
    },
    encrypt: ({modalities, options}) => module.encrypt(client, modalities, options),
    newSigningKey: () => module.newSigningKey(),
    signer: ({key}) => module.signer(key),
    sign: ({file, options}) => module.sign(file, options),
  };
  let last = Promise.resolve();
  return ({id, call, values}) => {
    last = last.then(async () => {
      try {
        const result = await calls[call](values);
        reply({id, result}, handed(result));
      } catch (error) {
        const kind = error instanceof HeftError ? error.kind : 'INTERNAL';
        reply({id, error: {kind, message: error.message}}, []);
      } finally {
        for (const secret of secretsOf[call]?.(values) ?? []) secret.fill(0);
      }
    });
  };
}
