// SPDX-License-Identifier: Apache-2.0
// Makes a sample of each modality with the package, for module_test.sh.
//
//   node make_files.mjs PACKAGE WORLD VECTORS_FOLDER OUT ROW USE
//
// It writes OUT-face.ct and OUT-voice.ct.
import {readFileSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {rowsOf} from '../../browser/demo/npy.js';

const [folder, world, vectors, out, row, use] = process.argv.slice(2);
const {Heft} = await import(pathToFileURL(resolve(folder, 'node.js')));
const client = await Heft.client({
  model: readFileSync(join(world, 'model.heft')),
  encryptionKey: readFileSync(join(world, 'encryption.key')),
  trust: readFileSync(join(world, 'trust.heft'), 'utf8'),
});
for (const {name} of client.model.modalities) {
  const {dimension, values} = rowsOf(readFileSync(join(vectors, `${name}.npy`)), name);
  const file = await client.encrypt(name, values.slice(row * dimension, (Number(row) + 1) * dimension), {label: 'ann', use});
  writeFileSync(`${out}-${name}.ct`, file);
}
client.close();
