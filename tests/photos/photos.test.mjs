// SPDX-License-Identifier: Apache-2.0
// examples/photos: alignment and detection by known answers, wrong photos, and the way from photos to a
// search. Faces and networks are made (draw.mjs, networks.mjs).
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { similarity, SIZE, TEMPLATE, warp } from '../../examples/photos/align.mjs';
import { decode, distinct } from '../../examples/photos/detector.mjs';
import { generator } from './chance.mjs';
import { photo, sharp } from './draw.mjs';
import { PEOPLE, SAMPLES } from './make_world.mjs';
import { cosine, folder, heft, output, path, photos, recordings, refused, rowsOf } from './world.mjs';

const moved = ({ a, b, tx, ty }, [x, y]) => [a * x - b * y + tx, b * x + a * y + ty];
const MIDDLE = { x: 320, y: 240, scale: 1, turn: 0 };

function near(one, other, tolerance) {
  one.forEach((value, i) => assert.ok(Math.abs(value - other[i]) <= tolerance, `${one} is not near ${other}`));
}

test('a similarity transform is recovered from moved points', () => {
  const random = generator(1);
  for (let round = 0; round < 50; ++round) {
    const [scale, angle] = [random.uniform(0.1, 8), random.uniform(-3.1, 3.1)];
    const truth = { a: scale * Math.cos(angle), b: scale * Math.sin(angle), tx: random.uniform(-900, 900), ty: random.uniform(-900, 900) };
    const found = similarity(TEMPLATE, TEMPLATE.map((point) => moved(truth, point)));
    near(Object.values(found), Object.values(truth), 1e-5);
  }
});

test('of all similarity transforms the one found has the least error', () => {
  const random = generator(2);
  const points = TEMPLATE.map(([x, y]) => [3 * x + random.uniform(-9, 9), 3 * y + random.uniform(-9, 9)]);
  const error = (transform) => points.reduce((sum, point, i) => {
    const [x, y] = moved(transform, point);
    return sum + (x - TEMPLATE[i][0]) ** 2 + (y - TEMPLATE[i][1]) ** 2;
  }, 0);
  const best = similarity(points, TEMPLATE);
  for (const [name, step] of Object.entries({ a: 1e-3, b: 1e-3, tx: 0.1, ty: 0.1 })) {
    for (const sign of [-1, 1]) assert.ok(error({ ...best, [name]: best[name] + sign * step }) > error(best), name);
  }
});

test('no transform comes from five points at one place', () => {
  assert.equal(similarity(Array(5).fill([7, 7]), TEMPLATE), undefined);
});

// A picture whose red is its column, green its row, and blue 50.
function ramp(side, step) {
  const data = new Uint8Array(3 * side * side);
  for (let i = 0; i < side * side; ++i) data.set([(i % side) / step, Math.floor(i / side) / step, 50], 3 * i);
  return { width: side, height: side, data };
}

test('an aligned picture has each pixel from its place, and black from outside', () => {
  const planes = warp(ramp(100, 1), { a: 2, b: 0, tx: 10, ty: -20 });
  const at = (channel, x, y) => planes[(channel * SIZE + y) * SIZE + x];
  near([at(0, 50, 40), at(1, 50, 40), at(2, 50, 40)], [20, 30, 50], 1e-4);
  near([at(0, 51, 41), at(1, 51, 41), at(2, 51, 41)], [20.5, 30.5, 50], 1e-4);
  near([at(0, 4, 40), at(1, 4, 40), at(2, 4, 40)], [0, 0, 0], 0);
});

test('an aligned picture that shrinks is a mean, without a shift', () => {
  const stripes = ramp(200, 1);
  for (let i = 0; i < 200 * 200; ++i) stripes.data[3 * i] = 200 * (i % 2);
  const planes = warp(stripes, { a: 0.25, b: 0, tx: 20, ty: 0 });
  near([planes[30 * SIZE + 45], planes[(SIZE + 30) * SIZE + 45]], [100, 120], 1.01);
});

test('a cell of the detector is decoded as OpenCV does', () => {
  const [cells, cell] = [40 * 40, 40 * 5 + 3]; // stride 16, row 5, column 3
  const [cls, obj, bbox, kps] = [1, 1, 4, 10].map((channels) => new Float32Array(cells * channels));
  cls[cell] = 0.98;
  obj[cell] = 0.96;
  cls[0] = 1; // and no object: no face
  bbox.set([0.5, -0.25, Math.log(4), Math.log(6)], 4 * cell);
  kps.set([0, 0, 1, 0, 0.5, 0.5, 0, 1, 1, 1], 10 * cell);
  const faces = decode(16, cls, obj, bbox, kps);
  assert.equal(faces.length, 1);
  near([faces[0].score], [Math.sqrt(0.98 * 0.96)], 1e-6);
  const { x, y, width, height } = faces[0].box;
  near([x, y, width, height], [56 - 32, 76 - 48, 64, 96], 1e-4);
  near(faces[0].points.flat(), [48, 80, 64, 80, 56, 88, 48, 96, 64, 96], 1e-4);
});

test('of boxes that overlap the one of the highest score remains', () => {
  const face = (score, x) => ({ score, box: { x, y: 0, width: 100, height: 100 } });
  assert.deepEqual(distinct([face(0.91, 10), face(0.99, 0), face(0.95, 80)]).map(({ score }) => score), [0.99, 0.95]);
});

test('rows are in the order of people and files, with labels, and private', () => {
  const said = output(photos('photos', 'ordered'));
  const labels = readFileSync(path('ordered', 'labels.txt'), 'utf8').trimEnd().split('\n');
  const rows = rowsOf(path('ordered', 'face.npy'));
  assert.equal(rows.length, PEOPLE * SAMPLES);
  assert.equal(rows[0].length, 64);
  assert.deepEqual(labels, Array.from({ length: PEOPLE * SAMPLES }, (_, i) => `p${String(1 + Math.floor(i / SAMPLES)).padStart(2, '0')}`));
  assert.match(said, /^row 5: photos\/p02\/2\.jpg$/m);
  assert.equal(statSync(path('ordered', 'face.npy')).mode & 0o777, 0o600);
  refused(photos('photos', 'ordered'), /ordered\/face\.npy: exists already/);
});

test('a turned, moved and scaled face gives nearly the same vector, and another person another', async () => {
  const poses = [MIDDLE, { x: 200, y: 150, scale: 1.6, turn: 40 }, { x: 450, y: 300, scale: 0.9, turn: -65 }];
  folder('turned');
  for (const [i, pose] of poses.entries()) await photo([[70, pose]]).png().toFile(path('turned', `${i}.png`));
  await photo([[71, MIDDLE]]).png().toFile(path('turned', '3.png'));
  output(photos('turned', 'turned-out'));
  assert.ok(!existsSync(path('turned-out', 'labels.txt')));
  const [first, second, third, other] = rowsOf(path('turned-out', 'face.npy'));
  assert.ok(cosine(first, second) > 0.9, `${cosine(first, second)}`);
  assert.ok(cosine(first, third) > 0.9, `${cosine(first, third)}`);
  assert.ok(cosine(first, other) < 0.6, `${cosine(first, other)}`);
});

test('a photo is shown as its orientation says', async () => {
  folder('held');
  const upright = await photo([[70, MIDDLE]]).png().toBuffer();
  writeFileSync(path('held', '1.png'), upright);
  // Stored as in a mirror, which orientation 2 says. A turn would not do: alignment undoes it.
  await sharp(upright).flop().withMetadata({ orientation: 2 }).png().toFile(path('held', '2.png'));
  output(photos('held', 'held-out'));
  const [first, second] = rowsOf(path('held-out', 'face.npy'));
  assert.ok(cosine(first, second) > 0.999, `${cosine(first, second)}`);
});

test('of two faces the larger is used, with a warning that names the photo', async () => {
  folder('two');
  const wide = { width: 1000, height: 500 };
  const [left, right] = [{ x: 200, y: 250, scale: 2, turn: 0 }, { x: 800, y: 250, scale: 1.3, turn: 0 }];
  await photo([[70, left], [71, right]], wide).png().toFile(path('two', '1.png'));
  await photo([[70, left]], wide).png().toFile(path('two', '2.png'));
  await photo([[71, left]], wide).png().toFile(path('two', '3.png'));
  const done = photos('two', 'two-out');
  output(done);
  assert.match(done.stderr, /two\/1\.png: warning: 2 faces; the largest is used/);
  assert.equal(done.stderr.trim().split('\n').length, 1);
  const [both, larger, smaller] = rowsOf(path('two-out', 'face.npy'));
  assert.ok(cosine(both, larger) > 0.99, `${cosine(both, larger)}`);
  assert.ok(cosine(both, smaller) < 0.6, `${cosine(both, smaller)}`);
});

test('all photos that cannot be used are named, and nothing is written', async () => {
  folder('wrong', 'ann');
  copyFileSync(path('photos', 'p01', '1.jpg'), path('wrong', 'ann', 'good.jpg'));
  await photo([]).jpeg().toFile(path('wrong', 'ann', 'empty.jpg'));
  writeFileSync(path('wrong', 'ann', 'text.jpg'), 'no picture');
  writeFileSync(path('wrong', 'ann', 'cut.jpg'), readFileSync(path('photos', 'p01', '2.jpg')).subarray(0, 4000));
  refused(photos('wrong', 'wrong-out'), /ann\/empty\.jpg: no face was found/, /ann\/text\.jpg: cannot be read/,
          /ann\/cut\.jpg: cannot be read/, /3 of 4 photos cannot be used.*Nothing was written/);
  assert.ok(!existsSync(path('wrong-out')));
});

test('a folder of another layout is refused', () => {
  refused(photos('nowhere', 'out'), /nowhere: there is no such folder/);
  refused(photos(folder('none'), 'out'), /none: no photos in it/);
  folder('mixed', 'ann');
  copyFileSync(path('photos', 'p01', '1.jpg'), path('mixed', '1.jpg'));
  refused(photos('mixed', 'out'), /mixed\/1\.jpg: a file among the folders of people/);
  folder('kinds', 'ann');
  refused(photos('kinds', 'out'), /kinds\/ann: no photos of this person/);
  writeFileSync(path('kinds', 'ann', '1.heic'), '');
  refused(photos('kinds', 'out'), /kinds\/ann\/1\.heic: not one of the photos that can be read \(\.jpg, /);
  folder('deep', 'ann', 'more');
  refused(photos('deep', 'out'), /deep\/ann\/more: a folder inside a person's folder/);
  folder('lines', 'an\nn');
  refused(photos('lines', 'out'), /labels\.txt/);
});

test('a wrong network or option is refused by name', () => {
  refused(photos('photos', 'out', { detector: 'no.onnx' }), /no\.onnx: there is no such file/);
  refused(photos('photos', 'out', { detector: 'sface.onnx' }), /sface\.onnx: has no output cls_8: use YuNet/);
  refused(photos('photos', 'out', { recogniser: 'yunet.onnx' }), /yunet\.onnx: must have one input of the shape N x 3 x 112 x 112/);
  writeFileSync(path('text.onnx'), 'no network');
  refused(photos('photos', 'out', { recogniser: 'text.onnx' }), /text\.onnx: not a network that ONNX Runtime reads/);
  refused(photos('photos', 'out', { input: 'toString' }), /--input toString: use sface or arcface/);
  refused(photos('photos', ''), /--out is missing/);
});

test('the two scales of pixels give different vectors', () => {
  output(photos('probe-photos', 'bytes'));
  output(photos('probe-photos', 'units', { input: 'arcface' }));
  const [bytes, units] = ['bytes', 'units'].map((name) => rowsOf(path(name, 'face.npy'))[0]);
  assert.ok(cosine(bytes, units) < 0.99, `${cosine(bytes, units)}`);
});

test('from photos and recordings of twelve people to a search', () => {
  output(photos('photos', 'people'));
  output(recordings('recordings', 'people'));
  output(photos('probe-photos', 'probe'));
  output(recordings('probe-recordings', 'probe'));
  heft('init', 'gallery', '--quiet', '--data', 'people', '--method', 'none', '--no-passphrase');
  heft('add', 'gallery', '--quiet', 'people/face.npy', 'people/voice.npy', '--labels', 'people/labels.txt');
  const found = heft('search', 'gallery', 'probe/face.npy', 'probe/voice.npy');
  assert.match(found, /row 0: p01 \(accepted/);
  assert.match(found, /row 1: p02 \(accepted/);
  assert.match(found, /row 2: no match/);
});

test('a score is the cosine of the two vectors, so a threshold published for a network holds', () => {
  output(photos('photos', 'faces'));
  output(photos('probe-photos', 'strangers'));
  const [enrolled, probes] = ['faces', 'strangers'].map((name) => rowsOf(path(name, 'face.npy')));
  const best = Math.max(...enrolled.map((row) => cosine(row, probes[2])));
  heft('init', 'face-gallery', '--quiet', '--data', 'faces', '--method', 'none', '--no-passphrase');
  heft('add', 'face-gallery', '--quiet', 'faces/face.npy', '--labels', 'faces/labels.txt');
  const search = (threshold) => heft('search', 'face-gallery', '--quiet', 'strangers/face.npy', '--threshold', String(threshold));
  assert.match(search(best - 0.005), /row 2: p\d\d \(accepted/);
  assert.match(search(best + 0.005), /row 2: no match \(rejected/);
});
