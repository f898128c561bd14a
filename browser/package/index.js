// SPDX-License-Identifier: Apache-2.0
// HEFT in a browser: start at index.d.ts.
import {Client} from './client.js';
import {HeftError} from './errors.js';

export {HeftError};
export {Client} from './client.js';
export {Service, ask} from './service.js';
export {checkDecision} from './decision.js';

function spawn() {
  const worker = new Worker(new URL('./worker.js', import.meta.url), {type: 'module'});
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    listen(onMessage, onError) {
      worker.addEventListener('message', (event) => onMessage(event.data));
      worker.addEventListener('error', (event) => onError(event.message ?? 'it could not be loaded'));
    },
    end: () => worker.terminate(),
  };
}

export const Heft = {
  async client(options) {
    if (typeof Worker === 'undefined') throw new HeftError('UNIMPLEMENTED', 'module workers are missing here: use a newer browser');
    return Client.open(spawn, options);
  },
};
