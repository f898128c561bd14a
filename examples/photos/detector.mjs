// SPDX-License-Identifier: Apache-2.0
// Finds faces and their five points with YuNet (Wu, Peng and Yu, "YuNet: A Tiny Millisecond-level Face
// Detector", Machine Intelligence Research 20, 2023), of 2023 or later.
import { UserError } from '../samples.mjs';

// Width and height of the network's input, and the distances of its cells, in pixels.
const SIDE = 640;
const STRIDES = [8, 16, 32];
// The least score of a face, and the most that two faces overlap: those of OpenCV's FaceDetectorYN.
const LEAST_SCORE = 0.9;
const MOST_OVERLAP = 0.3;

const clamp = (value) => Math.min(Math.max(value, 0), 1);

// Shared area by joint area, of two boxes.
function overlap(one, other) {
  const side = (from, length) =>
    Math.max(0, Math.min(one[from] + one[length], other[from] + other[length]) - Math.max(one[from], other[from]));
  const shared = side('x', 'width') * side('y', 'height');
  return shared / (one.width * one.height + other.width * other.height - shared);
}

// The faces of one stride, as FaceDetectorYN reads them: a score is the geometric mean of class and
// object, a place is relative to its cell, in cells, and a size is a logarithm of cells.
export function decode(stride, cls, obj, bbox, kps) {
  const cells = SIDE / stride;
  const faces = [];
  for (let cell = 0; cell < cells * cells; ++cell) {
    const score = Math.sqrt(clamp(cls[cell]) * clamp(obj[cell]));
    if (!(score >= LEAST_SCORE)) continue;
    const [column, row] = [cell % cells, Math.floor(cell / cells)];
    const [x, y, width, height] = bbox.subarray(4 * cell, 4 * cell + 4);
    const box = { width: Math.exp(width) * stride, height: Math.exp(height) * stride };
    box.x = (column + x) * stride - box.width / 2;
    box.y = (row + y) * stride - box.height / 2;
    const points = [0, 1, 2, 3, 4].map((point) => [(column + kps[10 * cell + 2 * point]) * stride,
                                                   (row + kps[10 * cell + 2 * point + 1]) * stride]);
    faces.push({ score, box, points });
  }
  return faces;
}

// Each face once: of boxes that overlap, the one of the highest score.
export function distinct(faces) {
  const kept = [];
  for (const face of [...faces].sort((one, other) => other.score - one.score)) {
    if (kept.every((other) => overlap(face.box, other.box) <= MOST_OVERLAP)) kept.push(face);
  }
  return kept;
}

export class Detector {
  constructor(file, session, ort, sharp) {
    Object.assign(this, { file, session, ort, sharp });
    const missing = STRIDES.flatMap((stride) => ['cls', 'obj', 'bbox', 'kps'].map((name) => `${name}_${stride}`))
      .find((name) => !session.outputNames.includes(name));
    if (missing || session.inputNames.length !== 1) {
      throw new UserError(`${file}: has no output ${missing ?? 'of one input'}: use YuNet of 2023 or later ` +
                          '(face_detection_yunet_2023mar.onnx)');
    }
  }

  // The image at the upper left of the network's input, as large as fits: blue, then green, then red.
  async input({ width, height, data }, scale) {
    const size = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
    const small = await this.sharp(data, { raw: { width, height, channels: 3 } })
      .resize({ ...size, fit: 'fill' }).raw().toBuffer();
    const planes = new Float32Array(3 * SIDE * SIDE);
    for (let pixel = 0; pixel < size.width * size.height; ++pixel) {
      const at = Math.floor(pixel / size.width) * SIDE + (pixel % size.width);
      for (let channel = 0; channel < 3; ++channel) {
        planes[(2 - channel) * SIDE * SIDE + at] = small[3 * pixel + channel];
      }
    }
    return new this.ort.Tensor('float32', planes, [1, 3, SIDE, SIDE]);
  }

  // The faces of an image (RGB, bytes), in its pixels, the largest first.
  async find(image) {
    const scale = Math.min(SIDE / image.width, SIDE / image.height);
    let output;
    try {
      output = await this.session.run({ [this.session.inputNames[0]]: await this.input(image, scale) });
    } catch (error) {
      throw new UserError(`${this.file} does not take an image of ${SIDE} x ${SIDE}: ${error.message}`);
    }
    const faces = distinct(STRIDES.flatMap((stride) => decode(
      stride, ...['cls', 'obj', 'bbox', 'kps'].map((name) => output[`${name}_${stride}`].data))));
    for (const face of faces) {
      for (const side of ['x', 'y', 'width', 'height']) face.box[side] /= scale;
      face.points = face.points.map(([x, y]) => [x / scale, y / scale]);
    }
    return faces.sort((one, other) => other.box.width * other.box.height - one.box.width * one.box.height);
  }
}
