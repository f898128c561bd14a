// SPDX-License-Identifier: Apache-2.0
// examples/recordings: vectors of a speaker network by sherpa-onnx, wrong recordings, and rows that must
// fit those of photos. Voices and the network are made (speak.mjs, networks.mjs).
import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { PEOPLE, SAMPLES } from './make_world.mjs';
import { speaker } from './networks.mjs';
import { voice, wav } from './speak.mjs';
import { cosine, folder, output, path, photos, recordings, refused, rowsOf } from './world.mjs';

test('recordings of a person are more alike than those of two', () => {
  output(recordings('recordings', 'voices'));
  const rows = rowsOf(path('voices', 'voice.npy'));
  assert.equal(rows.length, PEOPLE * SAMPLES);
  assert.equal(rows[0].length, 48);
  const means = [[0, 0], [0, 0]];
  rows.forEach((one, i) => rows.slice(0, i).forEach((other, j) => {
    const mean = means[Number(Math.floor(i / SAMPLES) === Math.floor(j / SAMPLES))];
    mean[0] += cosine(one, other);
    ++mean[1];
  }));
  const [different, same] = means.map(([sum, count]) => sum / count);
  assert.ok(same > different + 0.3, `${same}, ${different}`);
});

test('recordings that cannot be used are named with the reason, and nothing is written', () => {
  folder('wrong', 'ann');
  const samples = voice(1, 1);
  const files = {
    'stereo.wav': [wav(samples, { channels: 2 }), /has 2 channels, not one: convert it/],
    'cd.wav': [wav(voice(1, 1, { rate: 44100 }), { rate: 44100 }), /has 44100 samples a second, not 16000: convert it/],
    'phone.wav': [wav(voice(1, 1, { rate: 8000 }), { rate: 8000 }), /has 8000 samples a second/],
    'short.wav': [wav(samples.subarray(0, 8000)), /is shorter than 1 s/],
    'silent.wav': [wav(new Float32Array(32000)), /is silent/],
    'text.wav': [Buffer.from('a text that is no recording'), /not a WAV file/],
    'cut.wav': [wav(samples).subarray(0, 30000), /damaged, or of a kind that sherpa-onnx cannot read/],
    'empty.wav': [Buffer.alloc(0), /not a WAV file/],
  };
  for (const [name, [bytes]] of Object.entries(files)) writeFileSync(path('wrong', 'ann', name), bytes);
  writeFileSync(path('wrong', 'ann', 'good.wav'), wav(samples));
  refused(recordings('wrong', 'wrong-out'), /8 of 9 recordings cannot be used/,
          ...Object.entries(files).map(([name, [, reason]]) => new RegExp(`ann/${name}: ${reason.source}`)));
  assert.ok(!existsSync(path('wrong-out')));
});

test('a wrong network is refused by name, though sherpa-onnx ends its process', () => {
  refused(recordings('recordings', 'out', { network: 'no.onnx' }), /no\.onnx: there is no such file/);
  refused(recordings('recordings', 'out', { network: 'sface.onnx' }), /sface\.onnx: not a speaker network with the metadata/);
  writeFileSync(path('strange.onnx'), speaker({ framework: 'strange' }));
  refused(recordings('recordings', 'out', { network: 'strange.onnx' }), /strange\.onnx: not a speaker network/);
  writeFileSync(path('text.onnx'), 'no network');
  refused(recordings('recordings', 'out', { network: 'text.onnx' }), /text\.onnx: not a speaker network/);
});

test('photos and recordings of one folder have the same rows, or are refused', () => {
  output(photos('photos', 'both'));
  const labels = readFileSync(path('both', 'labels.txt'));
  cpSync(path('recordings'), path('fewer'), { recursive: true });
  rmSync(path('fewer', 'p03', '4.wav'));
  refused(recordings('fewer', 'both'), /both\/labels\.txt: has other rows than this folder/);
  refused(recordings('probe-recordings', 'both'), /both\/labels\.txt: has other rows/);
  assert.ok(!existsSync(path('both', 'voice.npy')));
  output(recordings('recordings', 'both'));
  assert.deepEqual(readFileSync(path('both', 'labels.txt')), labels);
});
