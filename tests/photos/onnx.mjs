// SPDX-License-Identifier: Apache-2.0
// Writes small ONNX models for tests: the messages of onnx.proto (IR version 8) that they need.
const FLOAT = 1;
const INT64 = 7;

function varint(value) {
  const bytes = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}

const integer = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);
const text = (field, value) => bytes(field, Buffer.from(value));
const message = (field, ...parts) => bytes(field, Buffer.concat(parts));

function tensor(field, name, { shape, values, type = FLOAT }) {
  const raw = Buffer.alloc(values.length * (type === FLOAT ? 4 : 8));
  values.forEach((value, i) => (type === FLOAT ? raw.writeFloatLE(value, 4 * i) : raw.writeBigInt64LE(BigInt(value), 8 * i)));
  return message(field, ...shape.map((size) => integer(1, size)), integer(2, type), text(8, name), bytes(9, raw));
}

// An attribute: an integer, or a list of them.
function attribute(name, value) {
  if (Array.isArray(value)) return message(5, text(1, name), ...value.map((one) => integer(8, one)), integer(20, 7));
  return message(5, text(1, name), integer(3, value), integer(20, 2));
}

// An input or output of floats; a size that is a string varies.
function declared(field, name, shape) {
  const sizes = shape.map((size) => message(1, typeof size === 'string' ? text(2, size) : integer(1, size)));
  return message(field, text(1, name), message(2, message(1, integer(1, FLOAT), message(2, ...sizes))));
}

// A model that is built node by node; values are named by strings.
export class Graph {
  constructor() {
    this.parts = [];
    this.used = 0;
  }

  constant(shape, values, type = FLOAT) {
    const name = `value${this.used++}`;
    this.parts.push(tensor(5, name, { shape, values, type }));
    return name;
  }

  integers(...values) {
    return this.constant([values.length], values, INT64);
  }

  // The output of a new node.
  node(operator, inputs, attributes = {}, name = `value${this.used++}`) {
    this.parts.push(message(1, ...inputs.map((input) => text(1, input)), text(2, name), text(4, operator),
                            ...Object.entries(attributes).map(([key, value]) => attribute(key, value))));
    return name;
  }

  // The model's bytes. inputs, outputs: shapes by name; metadata: strings by name.
  model(inputs, outputs, metadata = {}) {
    return Buffer.concat([
      integer(1, 8),
      message(7, ...this.parts, text(2, 'test'), ...Object.entries(inputs).map(([name, shape]) => declared(11, name, shape)),
              ...Object.entries(outputs).map(([name, shape]) => declared(12, name, shape))),
      message(8, text(1, ''), integer(2, 13)),
      ...Object.entries(metadata).map(([key, value]) => message(14, text(1, key), text(2, value))),
    ]);
  }
}
