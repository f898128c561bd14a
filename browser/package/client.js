// SPDX-License-Identifier: Apache-2.0
// Client: the client's role, computed in a worker. Vectors and signing keys are copied once: the copy
// is handed to the worker, so that the page has none, and wiped there.
import {HeftError} from './errors.js';
import {bytesOf, objectOf, textOf, wrong} from './given.js';

function vectorOf(value, what) {
  const numbers = value instanceof Float32Array || value instanceof Float64Array || (Array.isArray(value) && value.every((one) => typeof one === 'number'));
  if (!numbers) wrong(`${what}: give a Float32Array with one row after the other`);
  // A copy in its own buffer: a view would send its whole, perhaps large, buffer.
  return Float32Array.from(value);
}

// Not slice(), which of Node's Buffer is a view.
const copyOf = (key) => Uint8Array.from(bytesOf(key, 'key'));

function optionsOf(options) {
  const {label, labels, use, encoding, average} = objectOf(options, 'options');
  if (label !== undefined && labels !== undefined) wrong('label is for one row, labels for several: give one of the two');
  if (labels !== undefined && !Array.isArray(labels)) wrong('labels: give an array with a text for each row; for one row use label');
  const all = labels ?? (label === undefined || label === '' ? [] : [label]);
  for (const [value, what] of [[use, 'use'], [encoding, 'encoding']]) if (value !== undefined) textOf(value, what);
  if (average !== undefined && typeof average !== 'boolean') wrong('average: give true or false');
  return {labels: all.map((one) => textOf(one, 'label')), use, encoding, average};
}

export class Client {
  #port;
  #waiting = new Map();
  #next = 0;
  #ended = null;

  // `port`: {post(message, transfer), listen(onMessage, onError), end()} of a worker.
  constructor(port) {
    this.#port = port;
    port.listen(({id, result, error}) => {
      const promise = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) promise?.reject(new HeftError(error.kind, error.message));
      else promise?.resolve(result);
    }, (message) => this.#end(new HeftError('INTERNAL', `the worker has ended: ${message}`)));
  }

  // `spawn`: makes a port, after the arguments were checked.
  static async open(spawn, options) {
    const {model, encryptionKey, trust = ''} = objectOf(options, 'options');
    const files = {model: bytesOf(model, 'model'), encryptionKey: bytesOf(encryptionKey, 'encryptionKey'), trust: textOf(trust, 'trust')};
    const client = new Client(spawn());
    try {
      client.model = Object.freeze(await client.#ask('open', files));
    } catch (error) {
      client.close();
      throw error;
    }
    return client;
  }

  // `handed`: buffers of `values` that are the worker's from then on.
  #ask(call, values, handed = []) {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#waiting.set(id, {resolve, reject});
      this.#port.post({id, call, values}, handed);
    });
  }

  #end(error) {
    if (this.#ended) return;
    this.#ended = error;
    this.#port.end();
    for (const {reject} of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  async encrypt(modality, vector, options) {
    const {encoding = 'compact', ...rest} = optionsOf(options);
    if (encoding === 'fused') wrong('fused samples contain all modalities: use encryptFused');
    return this.#encrypt([[textOf(modality, 'modality'), vectorOf(vector, modality)]], {...rest, encoding});
  }

  async encryptFused(vectors, options) {
    const rest = optionsOf(options);
    const modalities = Object.entries(objectOf(vectors, 'vectors')).map(([name, vector]) => [name, vectorOf(vector, name)]);
    return this.#encrypt(modalities, {...rest, encoding: 'fused'});
  }

  #encrypt(modalities, options) {
    return this.#ask('encrypt', {modalities, options}, modalities.map(([, values]) => values.buffer));
  }

  // A key that signs requests, and its public half, by which a service knows it: {key, publicKey}.
  async newSigningKey() {
    return this.#ask('newSigningKey', {});
  }

  async signer(key) {
    const copy = copyOf(key);
    return this.#ask('signer', {key: copy}, [copy.buffer]);
  }

  async sign(file, options) {
    const {key, audience = '', life = 300} = objectOf(options, 'options');
    if (!Number.isInteger(life) || life < 0 || life >= 2 ** 32) wrong('life: give whole seconds, or 0 for no end');
    const values = {file: bytesOf(file, 'file'), options: {audience: textOf(audience, 'audience'), life, key: copyOf(key)}};
    return this.#ask('sign', values, [values.options.key.buffer]);
  }

  // Ends the worker and releases its memory. Calls in progress fail.
  close() {
    this.#end(new HeftError('FAILED_PRECONDITION', 'the client is closed'));
  }

  [Symbol.dispose ?? Symbol('dispose')]() {
    this.close();
  }
}
