// SPDX-License-Identifier: Apache-2.0
// The module and its memory, for worker.js and for tests, which pass their own `random`; apps use
// index.js.
import {HeftError} from './errors.js';

// In the order of SampleEncoding and SampleUse (include/heft/client.h).
const kEncodings = ['compact', 'bulk', 'partial', 'fused'];
const kUses = ['enrolment', 'identification'];

// systemRandom: fills `bytes`, or throws.
export function systemRandom(bytes) {
  globalThis.crypto.getRandomValues(bytes);
}

function numberOf(value, names, what) {
  const number = names.indexOf(value);
  if (number < 0) throw new HeftError('INVALID_ARGUMENT', `${what} "${value}": give one of ${names.join(', ')}`);
  return number;
}

// The system calls of the C library. There are no files, no environment and no arguments.
function systemOf(memory) {
  const view = () => new DataView(memory().buffer);
  const kBadDescriptor = 8;
  return {
    clock_time_get(id, precision, out) {
      view().setBigUint64(out, BigInt(Date.now()) * 1000000n, true);
      return 0;
    },
    environ_sizes_get(count, size) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    fd_close: () => kBadDescriptor,
    fd_read: () => kBadDescriptor,
    fd_seek: () => kBadDescriptor,
    fd_write: () => kBadDescriptor,
    proc_exit() {
      throw new WebAssembly.RuntimeError('the module has stopped');
    },
  };
}

// open: a module that is ready. `code`: the bytes of heft.wasm, or a compiled WebAssembly.Module.
export async function open(code, random = systemRandom) {
  const module = code instanceof WebAssembly.Module ? code : await WebAssembly.compile(code);
  let exports = null;
  const memory = () => exports.memory;
  const imports = {
    env: {
      emscripten_notify_memory_growth() {},
      // Abseil's: there are no traces of the stack.
      emscripten_asm_const_int: () => 0,
      emscripten_stack_snapshot: () => 0,
      emscripten_stack_unwind_buffer: () => 0,
      heft_host_random(pointer, size) {
        try {
          random(new Uint8Array(memory().buffer, pointer, size));
          return 1;
        } catch {
          return 0;
        }
      },
    },
    wasi_snapshot_preview1: systemOf(memory),
  };
  exports = (await WebAssembly.instantiate(module, imports)).exports;
  exports._initialize?.();
  const opened = new Module(exports);
  opened.start();
  return opened;
}

class Module {
  #exports;
  #broken = null;

  constructor(exports) {
    this.#exports = exports;
  }

  start() {
    if (this.#call('heft_start') !== 1) throw (this.#broken = noRandomness());
  }

  // After a trap the state of the memory is unknown, so no further call is made.
  #call(name, ...values) {
    if (this.#broken) throw this.#broken;
    try {
      return this.#exports[name](...values);
    } catch (error) {
      this.#broken = this.#exports.heft_randomness_failed() === 1 ? noRandomness() :
        new HeftError('INTERNAL', `the module has stopped (${error.message}), probably because memory ran out: open another client`);
      throw this.#broken;
    }
  }

  // Calls `use` with pointer and length of each of `all`, which are wiped after it.
  #with(all, use) {
    const taken = [];
    try {
      for (const bytes of all) {
        const pointer = this.#call('heft_allocate', bytes.byteLength);
        if (pointer === 0) throw new HeftError('RESOURCE_EXHAUSTED', 'not enough memory for the given data');
        taken.push([pointer, bytes.byteLength]);
        new Uint8Array(this.#exports.memory.buffer, pointer, bytes.byteLength)
          .set(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      }
      return use(...taken.flat());
    } finally {
      if (!this.#broken) for (const [pointer, size] of taken) this.#call('heft_release', pointer, size);
    }
  }

  #result() {
    const pointer = this.#call('heft_result'), size = this.#call('heft_result_size');
    const copy = new Uint8Array(this.#exports.memory.buffer, pointer, size).slice();
    this.#call('heft_result_release');
    return copy;
  }

  #error() {
    const {kind, message} = JSON.parse(new TextDecoder().decode(this.#result()));
    return new HeftError(kind, message);
  }

  // The bytes of a file or, of a client, {client, model}.
  client({model, encryptionKey, trust}) {
    const text = new TextEncoder().encode(trust ?? '');
    const client = this.#with([model, encryptionKey, text], (...where) => this.#call('heft_client', ...where));
    if (client === 0) throw this.#error();
    return {client, model: JSON.parse(new TextDecoder().decode(this.#result()))};
  }

  releaseClient(client) {
    this.#call('heft_client_release', client);
  }

  // modalities: [[name, Float32Array], ...], of one unless `encoding` is fused.
  encrypt(client, modalities, {labels = [], use = 'enrolment', encoding = 'compact', average = false} = {}) {
    const request = this.#call('heft_request', numberOf(encoding, kEncodings, 'encoding'), numberOf(use, kUses, 'use'), average ? 1 : 0);
    try {
      for (const [name, values] of modalities) {
        this.#with([new TextEncoder().encode(name), values], (text, length, pointer) =>
          this.#call('heft_request_rows', request, text, length, pointer, values.length));
      }
      for (const label of labels) {
        this.#with([new TextEncoder().encode(label)], (...where) => this.#call('heft_request_label', request, ...where));
      }
      if (this.#call('heft_encrypt', client, request) !== 1) throw this.#error();
      return this.#result();
    } finally {
      if (!this.#broken) this.#call('heft_request_release', request);
    }
  }

  // A signing key's file, in the clear, and its public half.
  newSigningKey() {
    if (this.#call('heft_new_signing_key') !== 1) throw this.#error();
    const key = this.#result();
    return {key, publicKey: this.signer(key)};
  }

  signer(key) {
    if (this.#with([key], (...where) => this.#call('heft_signer', ...where)) !== 1) throw this.#error();
    return new TextDecoder().decode(this.#result());
  }

  // `file`, signed by a client, for `audience` and `life` seconds.
  sign(file, {key, audience = '', life = 300}) {
    const to = new TextEncoder().encode(audience);
    if (this.#with([key, file, to], (...where) => this.#call('heft_sign', ...where, life)) !== 1) throw this.#error();
    return this.#result();
  }

  // Bytes of memory that the module holds.
  get memory() {
    return this.#exports.memory.buffer.byteLength;
  }
}

function noRandomness() {
  return new HeftError('UNAVAILABLE', 'crypto.getRandomValues gives no randomness here, so nothing can be encrypted');
}
