// SPDX-License-Identifier: Apache-2.0
// Reads a model file (docs/formats.md, MODL) and computes its results on plain vectors: the
// independent reference.
import { readFileSync } from 'node:fs';
import { must, programs } from './helpers.mjs';

export function readModel(path) {
  const bytes = readFileSync(path);
  let at = 24; // behind the envelope's header
  const u32 = () => bytes.readUInt32LE((at += 4) - 4);
  const u64 = () => Number(bytes.readBigUInt64LE((at += 8) - 8));
  const f64 = () => bytes.readDoubleLE((at += 8) - 8);
  const string = () => {
    const size = u64();
    return bytes.toString('utf8', at, (at += size));
  };
  const array = (count, read) => Array.from({ length: count }, read);
  const modalities = array(u32(), () => ({ name: string(), dimension: u32() }));
  const gamma = u32();
  string(); // profile
  const projection = array(u64(), f64);
  string(); // how the approximation was fitted
  const interval = [f64(), f64()];
  const stages = array(u32(), () => ({ centre: f64(), half: f64(), coefficients: array(u64(), f64) }));
  const total = modalities.reduce((sum, m) => sum + m.dimension, 0);
  return { modalities, gamma, projection, interval, stages, total };
}

// readNpy: rows of numbers as heft synth writes them: .npy, version 1, float32 or float64.
export function readNpy(path) {
  const bytes = readFileSync(path);
  const header = bytes.toString('latin1', 10, 10 + bytes.readUInt16LE(8));
  const [rows, columns] = /\((\d+), (\d+)\)/.exec(header).slice(1).map(Number);
  const wide = header.includes('<f8');
  const start = 10 + bytes.readUInt16LE(8);
  return Array.from({ length: rows }, (_, i) =>
    Array.from({ length: columns }, (_, j) => {
      const index = i * columns + j;
      return wide ? bytes.readDoubleLE(start + 8 * index) : bytes.readFloatLE(start + 4 * index);
    }));
}

// trained: makes a data set and its model, m.heft in the same folder, with our program; returns
// them with a function for a row's vectors.
export function trained(folder, profile, dimensions) {
  const heft = (...args) => must(programs.heft, ...args, '--json', '--quiet');
  heft('synth', '--out', `${folder}/data`, '--identities', 30, '--samples', 4, '--jitter', 1, '--dimensions', ...dimensions);
  heft('train', '--data', `${folder}/data`, '--out', `${folder}/m.heft`, '--gamma', 16, '--degree', 2,
    '--epochs', 3, '--no-exact', '--profile', profile);
  const model = readModel(`${folder}/m.heft`);
  const names = model.modalities.map((m) => m.name);
  const data = names.map((name) => readNpy(`${folder}/data/${name}.npy`));
  return { model, names, data, vectorsOf: (row) => data.map((rows) => rows[row]) };
}

// 1 / sqrt(s), approximately.
export const evaluate = (model, s) =>
  model.stages.reduce((x, { centre, half, coefficients }) => {
    const u = (x - centre) / half;
    return coefficients.reduceRight((y, c) => y * u + c, 0);
  }, s);

export const unit = (v) => {
  const length = Math.hypot(...v);
  return v.map((x) => x / length);
};

export const dot = (x, y) => x.reduce((sum, v, i) => sum + v * y[i], 0);

// The projection of one vector for each modality.
export function project(model, vectors) {
  const all = vectors.flatMap(unit);
  return Array.from({ length: model.gamma }, (_, r) =>
    dot(all, model.projection.slice(r * model.total, (r + 1) * model.total)));
}

// The fused template of one vector for each modality.
export function fuse(model, vectors) {
  const z = project(model, vectors);
  const factor = evaluate(model, dot(z, z));
  return z.map((x) => x * factor);
}

// The compact encoding (docs/seal.md): slot t holds v[run * floor(t / gamma) + t mod run].
export const compactSlots = (v, run, gamma, slots) =>
  Array.from({ length: slots }, (_, t) => v[run * Math.floor(t / gamma) + (t % run)] ?? 0);
