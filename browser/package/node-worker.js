// SPDX-License-Identifier: Apache-2.0
// The worker of Node.
import {readFile} from 'node:fs/promises';
import {parentPort} from 'node:worker_threads';
import {webcrypto} from 'node:crypto';
import {answering} from './answer.js';

globalThis.crypto ??= webcrypto; // Node 18
const answer = answering(() => readFile(new URL('./heft.wasm', import.meta.url)), (message, transfer) => parentPort.postMessage(message, transfer));
parentPort.on('message', answer);
