// SPDX-License-Identifier: Apache-2.0
// Opens a speaker network with sherpa-onnx, which computes the features that the network's metadata name.
//
//   node network.mjs FILE    opens it and ends: sherpa-onnx ends the process if it cannot
import { spawnSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { load, mustBeFile, UserError } from '../samples.mjs';

const create = (sherpa, file) => new sherpa.SpeakerEmbeddingExtractor({ model: file, numThreads: 1, debug: false });

// The network of a file. A process of its own tries it first, so that a wrong file is an error here.
export async function openNetwork(file) {
  mustBeFile(file);
  const { default: sherpa } = await load('sherpa-onnx-node');
  const tried = spawnSync(process.execPath, [fileURLToPath(import.meta.url), file], { encoding: 'utf8' });
  if (tried.status !== 0) {
    const said = tried.stderr.split('\n').map((line) => line.trim()).filter(Boolean).join(' ');
    throw new UserError(`${file}: not a speaker network with the metadata that sherpa-onnx needs: ${said}`);
  }
  return { sherpa, network: create(sherpa, file) };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { default: sherpa } = await load('sherpa-onnx-node');
  create(sherpa, process.argv[2]);
}
