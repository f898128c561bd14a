// SPDX-License-Identifier: Apache-2.0
// Folders of photos or recordings, and the files of vectors that HEFT reads (docs/data.md).
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, writeFileSync }
  from 'node:fs';
import { extname, join } from 'node:path';
import { parseArgs } from 'node:util';

// The most numbers a row may have: docs/data.md.
const MOST_NUMBERS = 2048;

// An error that the user can correct. The message is shown alone, without a stack.
export class UserError extends Error {}

// One of the packages in package.json, or an error that says how to install them.
export async function load(name) {
  try {
    return await import(name);
  } catch (error) {
    throw new UserError(`${name} cannot be loaded: run "npm ci --ignore-scripts" in the folder of ` +
                        `package.json (${String(error.message).split('\n')[0]})`);
  }
}

export function mustBeFile(path) {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) throw new UserError(`${path}: there is no such file`);
}

// Names in a folder without the hidden ones, sorted by code units, so that every machine has one order.
function entries(folder) {
  const names = readdirSync(folder).filter((name) => !name.startsWith('.')).sort();
  return names.map((name) => {
    const path = join(folder, name);
    return { name, path, isFolder: statSync(path).isDirectory() };
  });
}

function checkLabel(name, path) {
  if (/[\u0000-\u001f\u007f]/.test(name) || name !== name.trim()) {
    throw new UserError(`${JSON.stringify(path)}: a person's folder is a line of labels.txt, so its name must have ` +
                        'no control character, and no space at its ends');
  }
}

function checkFiles(files, what, extensions) {
  for (const file of files) {
    if (file.isFolder) throw new UserError(`${file.path}: a folder inside a person's folder`);
    if (!extensions.includes(extname(file.name).toLowerCase())) {
      throw new UserError(`${file.path}: not one of the ${what} that can be read (${extensions.join(', ')}): ` +
                          'convert or remove it');
    }
  }
}

// The files of FOLDER/PERSON/, with the person as the label; or of FOLDER/, without labels. Person by
// person, then file by file, each in the order of their names.
export function listSamples(folder, what, extensions) {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UserError(`${folder}: there is no such folder`);
  }
  const top = entries(folder);
  const people = top.filter((entry) => entry.isFolder);
  if (top.length === 0) throw new UserError(`${folder}: no ${what} in it`);
  if (people.length === 0) {
    checkFiles(top, what, extensions);
    return top.map(({ path }) => ({ path }));
  }
  if (people.length < top.length) {
    const odd = top.find((entry) => !entry.isFolder);
    throw new UserError(`${odd.path}: a file among the folders of people: move it into one of them`);
  }
  return people.flatMap(({ name, path }) => {
    checkLabel(name, path);
    const files = entries(path);
    if (files.length === 0) throw new UserError(`${path}: no ${what} of this person`);
    checkFiles(files, what, extensions);
    return files.map((file) => ({ path: file.path, label: name }));
  });
}

// NumPy's format 1.0: float32, one row per sample.
function npy(rows) {
  const columns = rows[0].length;
  let header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows.length}, ${columns}), }`;
  header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
  const bytes = Buffer.alloc(10 + header.length + 4 * rows.length * columns);
  bytes.write('\x93NUMPY\x01\x00', 'latin1');
  bytes.writeUInt16LE(header.length, 8);
  bytes.write(header, 10, 'latin1');
  rows.forEach((row, index) => row.forEach((value, column) => {
    bytes.writeFloatLE(value, 10 + header.length + 4 * (index * columns + column));
  }));
  return bytes;
}

// Refuses a folder that has this modality already, or another modality of other rows.
function checkOut(out, modality, labels) {
  const vectors = join(out, `${modality}.npy`);
  if (existsSync(vectors)) throw new UserError(`${vectors}: exists already: remove it, or use another --out`);
  const path = join(out, 'labels.txt');
  if (!existsSync(path)) return { vectors, labels: labels && path };
  if (!labels || readFileSync(path, 'utf8') !== labels) {
    throw new UserError(`${path}: has other rows than this folder: the n-th photo and the n-th recording of a person ` +
                        'make a row, so give each person as many of both, or use another --out');
  }
  return { vectors };
}

function checkVector(vector, columns) {
  if (vector.length > MOST_NUMBERS) {
    throw new UserError(`the network returns ${vector.length} numbers; HEFT takes at most ${MOST_NUMBERS}`);
  }
  if (vector.length !== columns) throw new UserError(`the network returns ${vector.length} numbers, not ${columns}`);
  if (!vector.every(Number.isFinite) || vector.every((value) => value === 0)) {
    throw new UserError('the network returns zeros, or no numbers');
  }
}

// Writes OUT/MODALITY.npy and labels.txt. compute(path) gives the vector of a file, as the network
// returns it: HEFT normalises it. If any file fails, all failures are shown, and nothing is written.
export async function embed({ folder, out, what, extensions, modality, compute }) {
  const samples = listSamples(folder, what, extensions);
  const labels = samples[0].label === undefined ? undefined : samples.map(({ label }) => `${label}\n`).join('');
  const files = checkOut(out, modality, labels);
  const rows = [];
  let failed = 0;
  for (const { path } of samples) {
    try {
      const vector = await compute(path);
      checkVector(vector, rows[0]?.length ?? vector.length);
      rows.push(vector);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      console.error(`${path}: ${error.message}`);
      ++failed;
    }
  }
  if (failed > 0) {
    throw new UserError(`${failed} of ${samples.length} ${what} cannot be used: replace or remove them. Nothing was ` +
                        'written');
  }
  mkdirSync(out, { recursive: true, mode: 0o700 });
  if (files.labels) writeFileSync(files.labels, labels, { flag: 'wx', mode: 0o600 });
  const descriptor = openSync(files.vectors, 'wx', 0o600);
  writeFileSync(descriptor, npy(rows));
  closeSync(descriptor);
  samples.forEach(({ path }, row) => console.log(`row ${row}: ${path}`));
  console.log(`${files.vectors}: ${rows.length} rows of ${rows[0].length} numbers`);
}

// Runs main(options, folder) with the options of the command line: all are required, each has a value.
export async function run(usage, names, main) {
  try {
    let parsed;
    try {
      const options = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
      parsed = parseArgs({ allowPositionals: true, options: { ...options, help: { type: 'boolean', short: 'h' } } });
    } catch (error) {
      throw new UserError(`${error.message}\n${usage}`);
    }
    if (parsed.values.help) {
      console.log(usage);
      return;
    }
    const missing = names.find((name) => !parsed.values[name]);
    if (missing) throw new UserError(`--${missing} is missing\n${usage}`);
    if (parsed.positionals.length !== 1) throw new UserError(`give one folder\n${usage}`);
    await main(parsed.values, parsed.positionals[0]);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
