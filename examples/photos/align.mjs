// SPDX-License-Identifier: Apache-2.0
// Alignment of a face by five points, as networks in the manner of ArcFace are trained with (Deng et
// al., ArcFace, CVPR 2019, section 3.1).

// Width and height of an aligned face, in pixels.
export const SIZE = 112;

// Where the eyes, the tip of the nose and the corners of the mouth are in an aligned face: arcface_dst
// of InsightFace (python-package/insightface/utils/face_align.py), which OpenCV's FaceRecognizerSF uses
// too. The eye and the corner of the mouth at the left of the picture come first.
export const TEMPLATE = [
  [38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041],
];

const mean = (points, axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;

// The similarity transform that takes points to targets with the least squared error, without a
// reflection: Umeyama, IEEE PAMI 13(4), 1991, which in the plane is a regression of complex numbers.
// (x, y) goes to (a x - b y + tx, b x + a y + ty). Undefined if all points are one.
export function similarity(points, targets) {
  const [px, py, qx, qy] = [mean(points, 0), mean(points, 1), mean(targets, 0), mean(targets, 1)];
  let [same, crossed, spread] = [0, 0, 0];
  points.forEach(([x, y], i) => {
    const [u, v, s, t] = [x - px, y - py, targets[i][0] - qx, targets[i][1] - qy];
    same += u * s + v * t;
    crossed += u * t - v * s;
    spread += u * u + v * v;
  });
  if (spread === 0) return undefined;
  const [a, b] = [same / spread, crossed / spread];
  return { a, b, tx: qx - a * px + b * py, ty: qy - b * px - a * py };
}

// The value of a channel between pixels: bilinear; black outside the image.
function between({ width, height, data }, x, y, channel) {
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const at = (column, row) =>
    column < 0 || row < 0 || column >= width || row >= height ? 0 : data[3 * (row * width + column) + channel];
  const [right, down] = [x - left, y - top];
  return (1 - down) * ((1 - right) * at(left, top) + right * at(left + 1, top)) +
         down * ((1 - right) * at(left, top + 1) + right * at(left + 1, top + 1));
}

// The image (RGB, bytes) under the transform: SIZE x SIZE, red, then green, then blue, in [0, 255]. If the
// transform shrinks the image, each pixel is the mean of a grid of points, so that no detail aliases.
export function warp(image, { a, b, tx, ty }) {
  const square = a * a + b * b;
  const grid = Math.max(1, Math.ceil(1 / Math.sqrt(square)));
  const planes = new Float32Array(3 * SIZE * SIZE);
  for (let row = 0; row < SIZE; ++row) {
    for (let column = 0; column < SIZE; ++column) {
      for (let point = 0; point < grid * grid; ++point) {
        const u = column + ((point % grid) + 0.5) / grid - 0.5 - tx;
        const v = row + (Math.floor(point / grid) + 0.5) / grid - 0.5 - ty;
        const [x, y] = [(a * u + b * v) / square, (a * v - b * u) / square];
        for (let channel = 0; channel < 3; ++channel) {
          planes[(channel * SIZE + row) * SIZE + column] += between(image, x, y, channel) / (grid * grid);
        }
      }
    }
  }
  return planes;
}
