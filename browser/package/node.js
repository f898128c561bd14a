// SPDX-License-Identifier: Apache-2.0
// The same in Node: start at index.d.ts.
import {webcrypto} from 'node:crypto';
import {Worker} from 'node:worker_threads';
import {Client} from './client.js';

export {HeftError} from './errors.js';
export {Client} from './client.js';
export {Service, ask} from './service.js';
export {checkDecision} from './decision.js';

globalThis.crypto ??= webcrypto; // Node 18

function spawn() {
  const worker = new Worker(new URL('./node-worker.js', import.meta.url));
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    listen(onMessage, onError) {
      worker.on('message', onMessage);
      worker.on('error', (error) => onError(error.message));
    },
    end: () => worker.terminate(),
  };
}

export const Heft = {
  async client(options) {
    return Client.open(spawn, options);
  },
};
