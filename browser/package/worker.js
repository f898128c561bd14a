// SPDX-License-Identifier: Apache-2.0
// The worker of a browser, in which everything is computed.
import {answering} from './answer.js';

async function load() {
  const response = await fetch(new URL('./heft.wasm', import.meta.url));
  if (!response.ok) throw new Error(`heft.wasm: ${response.status}`);
  return response.arrayBuffer();
}

const answer = answering(load, (message, transfer) => self.postMessage(message, transfer));
self.addEventListener('message', (event) => answer(event.data));
