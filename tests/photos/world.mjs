// SPDX-License-Identifier: Apache-2.0
// What the tests of photos and of recordings share: a temporary world, and the programs that they run.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeWorld } from './make_world.mjs';

export const world = mkdtempSync(join(tmpdir(), 'heft-photos-'));
after(() => rmSync(world, { recursive: true }));
await makeWorld(world);

export const path = (...names) => join(world, ...names);

// A new folder in the world.
export function folder(...names) {
  mkdirSync(path(...names), { recursive: true });
  return path(...names);
}

function run(program, words) {
  const { status, stdout, stderr, error } = spawnSync(program, words, { encoding: 'utf8', cwd: world });
  if (error) throw error;
  return { status, stdout, stderr };
}

const script = (name) => fileURLToPath(new URL(`../../examples/${name}/embed.mjs`, import.meta.url));
const PHOTO_OPTIONS = { detector: 'yunet.onnx', recogniser: 'sface.onnx', input: 'sface' };
const RECORDING_OPTIONS = { network: 'speaker.onnx' };
const listed = (options) => Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);

// Runs the example: { status, stdout, stderr }.
export const photos = (from, out, options = {}) =>
  run(script('photos'), [from, ...listed({ ...PHOTO_OPTIONS, out, ...options })]);
export const recordings = (from, out, options = {}) =>
  run(script('recordings'), [from, ...listed({ ...RECORDING_OPTIONS, out, ...options })]);

// The output of a program that must succeed.
export function output({ status, stdout, stderr }) {
  assert.equal(status, 0, stderr);
  return stdout;
}

// Asserts a failure whose message matches each pattern, and that leaves no file.
export function refused({ status, stderr }, ...patterns) {
  assert.equal(status, 1, stderr);
  for (const pattern of patterns) assert.match(stderr, pattern);
  assert.doesNotMatch(stderr, /\n\s+at /); // no stack
}

export const heft = (...words) => output(run(process.env.HEFT, words));

// The rows of a file of float32, read as docs/data.md describes it.
export function rowsOf(file) {
  const bytes = readFileSync(file);
  assert.equal(bytes.toString('latin1', 0, 8), '\x93NUMPY\x01\x00');
  const start = 10 + bytes.readUInt16LE(8);
  assert.equal(start % 64, 0);
  const [, rows, columns] = /'descr': '<f4', 'fortran_order': False, 'shape': \((\d+), (\d+)\)/.exec(bytes.toString('latin1', 10, start))
    .map(Number);
  assert.equal(bytes.length, start + 4 * rows * columns);
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) => bytes.readFloatLE(start + 4 * (row * columns + column))));
}

export function cosine(one, other) {
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}
