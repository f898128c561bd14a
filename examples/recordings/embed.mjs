#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// From a folder of recordings to voice.npy and labels.txt (docs/photos.md).
import { readFileSync } from 'node:fs';
import { embed, run, UserError } from '../samples.mjs';
import { openNetwork } from './network.mjs';

const USAGE = `usage: embed.mjs FOLDER --network FILE --out FOLDER

  FOLDER     FOLDER/PERSON/*.wav: labelled recordings; or FOLDER/*.wav: recordings without labels
  --network  speaker network (.onnx) with the metadata of sherpa-onnx
  --out      folder for voice.npy and labels.txt`;

// Samples a second, and the least of them.
const RATE = 16000;
const LEAST_SECONDS = 1;
const CONVERT = `convert it, for example with: ffmpeg -i IN -ac 1 -ar ${RATE} OUT.wav`;

// The number of channels, from the file's format chunk; undefined if it has none.
function channelsOf(bytes) {
  for (let at = 12; at + 12 <= bytes.length; at += 8 + bytes.readUInt32LE(at + 4)) {
    if (bytes.toString('latin1', at, at + 4) === 'fmt ') return bytes.readUInt16LE(at + 10);
  }
  return undefined;
}

function read(sherpa, path) {
  const channels = channelsOf(readFileSync(path));
  if (channels === undefined) throw new UserError(`not a WAV file: ${CONVERT}`);
  if (channels !== 1) throw new UserError(`has ${channels} channels, not one: ${CONVERT}`);
  let wave;
  try {
    wave = sherpa.readWave(path, false);
  } catch {
    throw new UserError(`damaged, or of a kind that sherpa-onnx cannot read: ${CONVERT}`);
  }
  if (wave.sampleRate !== RATE) throw new UserError(`has ${wave.sampleRate} samples a second, not ${RATE}: ${CONVERT}`);
  if (wave.samples.length < LEAST_SECONDS * RATE) throw new UserError(`is shorter than ${LEAST_SECONDS} s`);
  if (wave.samples.every((sample) => sample === 0)) throw new UserError('is silent');
  return wave;
}

await run(USAGE, ['network', 'out'], async (options, folder) => {
  const { sherpa, network } = await openNetwork(options.network);
  const compute = (path) => {
    const stream = network.createStream();
    stream.acceptWaveform(read(sherpa, path));
    stream.inputFinished();
    return network.compute(stream, false);
  };
  await embed({ folder, out: options.out, what: 'recordings', extensions: ['.wav'], modality: 'voice', compute });
});
