// SPDX-License-Identifier: Apache-2.0
// Networks for the drawn faces and the synthetic voices of the tests. They have the inputs and outputs
// of real ones (YuNet, ArcFace, WeSpeaker), but only find coloured dots, and compare coarse means.
import { generator } from './chance.mjs';
import { Graph } from './onnx.mjs';

const SIDE = 640;
const STRIDE = 32;
const CELLS = SIDE / STRIDE;

// Colours of the five points of a drawn face: red, green, blue.
export const POINT_COLOURS = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0], [255, 0, 255]];

const plane = (side, value) => Array.from({ length: side * side }, (_, i) => value(i % side, Math.floor(i / side)));

// A detector with the outputs of YuNet of 2023. In a window around each cell it takes the mean place of
// each colour. A face is where all five colours are, and the cell is near their middle.
export function detector() {
  const g = new Graph();
  const scalar = (value) => g.constant([1], [value]);
  // Distance of each pixel (blue, green, red) to each colour, then how much the pixel has of it.
  const weights = POINT_COLOURS.flatMap(() => [[1, 0, 0], [0, 1, 0], [0, 0, 1]].flat());
  const bias = POINT_COLOURS.flatMap((colour) => [...colour].reverse().map((value) => -value));
  const differences = g.node('Abs', [g.node('Conv', ['input', g.constant([15, 3, 1, 1], weights), g.constant([15], bias)])]);
  const distance = g.node('Conv', [differences, g.constant([5, 3, 1, 1], Array(15).fill(1))], { group: 5 });
  const amount = g.node('Relu', [g.node('Sub', [scalar(1), g.node('Div', [distance, scalar(150)])])]);
  // Sums over a window of nine by nine cells around each cell.
  const around = (value) => g.node(
    'AveragePool', [g.node('AveragePool', [value], { kernel_shape: [STRIDE, STRIDE], strides: [STRIDE, STRIDE] })],
    { kernel_shape: [9, 9], pads: [4, 4, 4, 4], count_include_pad: 1 });
  const sum = around(amount);
  const safe = g.node('Add', [sum, scalar(1e-9)]);
  const place = (coordinates) => {
    const weighted = g.node('Mul', [amount, g.constant([1, 1, SIDE, SIDE], coordinates)]);
    return g.node('Div', [g.node('Div', [around(weighted), safe]), scalar(STRIDE)]);
  };
  const [x, y] = [place(plane(SIDE, (column) => column)), place(plane(SIDE, (_, row) => row))]; // in cells
  const [columns, rows] = [plane(CELLS, (column) => column), plane(CELLS, (_, row) => row)]
    .map((values) => g.constant([1, 1, CELLS, CELLS], values));
  const one = (value, index) => g.node('Gather', [value, g.constant([1], [index], 7)], { axis: 1 });
  const square = (value) => g.node('Mul', [value, value]);
  const [noseX, noseY] = [g.node('Sub', [one(x, 2), columns]), g.node('Sub', [one(y, 2), rows])];
  // The colours are there if each has some pixels of the window.
  const least = g.node('ReduceMin', [sum], { axes: [1] });
  const cls = g.node('Min', [scalar(1), g.node('Mul', [least, scalar(1e5)])]);
  const away = g.node('Add', [square(g.node('Sub', [noseX, scalar(0.5)])), square(g.node('Sub', [noseY, scalar(0.5)]))]);
  const obj = g.node('Relu', [g.node('Sub', [scalar(1), g.node('Div', [away, scalar(4)])])]);
  const apart = (value) => square(g.node('Sub', [one(value, 0), one(value, 1)]));
  const size = g.node('Log', [g.node('Add', [
    g.node('Mul', [scalar(2.5), g.node('Sqrt', [g.node('Add', [apart(x), apart(y)])])]), scalar(1e-3)])]);
  const listed = (value, channels, name) => g.node('Transpose', [
    g.node('Reshape', [value, g.integers(1, channels, CELLS * CELLS)])], { perm: [0, 2, 1] }, name);
  listed(cls, 1, 'cls_32');
  listed(obj, 1, 'obj_32');
  listed(g.node('Concat', [noseX, noseY, size, size], { axis: 1 }), 4, 'bbox_32');
  const points = [0, 1, 2, 3, 4].flatMap((point) => [g.node('Sub', [one(x, point), columns]), g.node('Sub', [one(y, point), rows])]);
  listed(g.node('Concat', points, { axis: 1 }), 10, 'kps_32');
  const outputs = {};
  for (const [name, channels] of Object.entries({ cls: 1, obj: 1, bbox: 4, kps: 10 })) {
    for (const stride of [8, 16, 32]) {
      const shape = [1, (SIDE / stride) ** 2, channels];
      outputs[`${name}_${stride}`] = shape;
      if (stride < STRIDE) g.node('ConstantOfShape', [g.integers(...shape)], {}, `${name}_${stride}`);
    }
  }
  return g.model({ input: [1, 3, SIDE, SIDE] }, outputs);
}

function projection(g, value, from, to, seed, name) {
  const random = generator(seed);
  const weights = Array.from({ length: from * to }, () => random.normal());
  return g.node('MatMul', [value, g.constant([from, to], weights)], {}, name);
}

// A recogniser: the means of 8 x 8 fields of an aligned face (0 to 255), projected to 64 numbers.
export function recogniser() {
  const g = new Graph();
  const fields = g.node('AveragePool', ['data'], { kernel_shape: [14, 14], strides: [14, 14] });
  const centred = g.node('Div', [g.node('Sub', [fields, g.constant([1], [127.5])]), g.constant([1], [127.5])]);
  projection(g, g.node('Reshape', [centred, g.integers(-1, 192)]), 192, 64, 1, 'fc1');
  return g.model({ data: ['N', 3, 112, 112] }, { fc1: ['N', 64] });
}

// A speaker network: the mean of each log-mel band over the time, less the mean of the bands near it,
// projected to 48 numbers. The metadata is what sherpa-onnx reads (its scripts/wespeaker/add_meta_data.py).
export function speaker(metadata = {}) {
  const g = new Graph();
  const bands = g.node('ReduceMean', ['feats'], { axes: [1], keepdims: 1 });
  const near = g.node('AveragePool', [bands], { kernel_shape: [21], pads: [10, 10] });
  projection(g, g.node('Reshape', [g.node('Sub', [bands, near]), g.integers(-1, 80)]), 80, 48, 2, 'embs');
  return g.model({ feats: ['N', 'T', 80] }, { embs: ['N', 48] }, {
    framework: 'wespeaker', language: 'English', url: 'test', comment: 'test', sample_rate: '16000', output_dim: '48',
    normalize_samples: '0', feature_normalize_type: '', ...metadata,
  });
}
