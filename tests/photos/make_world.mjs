// SPDX-License-Identifier: Apache-2.0
// Writes networks, and photos and recordings of made people, for a test.
//
//   node make_world.mjs FOLDER
//
// FOLDER/ gets yunet.onnx, sface.onnx, speaker.onnx; photos/ and recordings/ with a folder for each person;
// probe-photos/ and probe-recordings/ with new ones of p01, p02 and of a stranger.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { photo, pose } from './draw.mjs';
import { detector, recogniser, speaker } from './networks.mjs';
import { voice, wav } from './speak.mjs';

export const PEOPLE = 12;
export const SAMPLES = 4;
const STRANGER = 500;

export async function makeWorld(folder) {
  const file = (...path) => join(folder, ...path);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file('yunet.onnx'), detector());
  writeFileSync(file('sface.onnx'), recogniser());
  writeFileSync(file('speaker.onnx'), speaker());
  const both = async (person, sample, photos, recordings, name) => {
    mkdirSync(file(photos), { recursive: true });
    mkdirSync(file(recordings), { recursive: true });
    const seed = 100 * person + sample;
    await photo([[person, pose(seed, 640, 480)]], { light: 0.8 + 0.05 * (sample % 5) }).jpeg().toFile(file(photos, `${name}.jpg`));
    writeFileSync(file(recordings, `${name}.wav`), wav(voice(person, sample)));
  };
  for (let person = 1; person <= PEOPLE; ++person) {
    const name = `p${String(person).padStart(2, '0')}`;
    for (let sample = 1; sample <= SAMPLES; ++sample) {
      await both(person, sample, `photos/${name}`, `recordings/${name}`, String(sample));
    }
  }
  for (const [person, name] of [[1, '1'], [2, '2'], [STRANGER, '3']]) {
    await both(person, 50, 'probe-photos', 'probe-recordings', name);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await makeWorld(process.argv[2]);
