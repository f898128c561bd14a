// SPDX-License-Identifier: Apache-2.0
// Vectors from files: .npy (version 1 to 3; floats of 4 or 8 bytes, row by row), or JSON: an array of numbers, or of such arrays.

// rowsOf: {rows, dimension, values}.
export function rowsOf(bytes, name) {
  const isNpy = bytes.length > 10 && bytes[0] === 0x93 && new TextDecoder('latin1').decode(bytes.subarray(1, 6)) === 'NUMPY';
  const found = isNpy ? ofNpy(bytes) : ofJson(bytes);
  if (!found) throw new Error(`${name}: give .npy with floats, row by row, or JSON with numbers`);
  return found;
}

function ofNpy(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wide = bytes[6] >= 2;
  const start = (wide ? 12 : 10) + (wide ? view.getUint32(8, true) : view.getUint16(8, true));
  const header = new TextDecoder('latin1').decode(bytes.subarray(wide ? 12 : 10, start));
  const type = /'descr': *'<f([48])'/.exec(header), shape = /'shape': *\((\d+),? *(\d*)\)/.exec(header);
  if (!type || !shape || !/'fortran_order': *False/.test(header)) return null;
  const [rows, dimension] = shape[2] === '' ? [1, Number(shape[1])] : [Number(shape[1]), Number(shape[2])];
  const data = bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.byteLength); // aligned
  if (data.byteLength !== rows * dimension * Number(type[1])) return null;
  const values = type[1] === '4' ? new Float32Array(data) : Float32Array.from(new Float64Array(data));
  return {rows, dimension, values};
}

function ofJson(bytes) {
  let read;
  try {
    read = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
  if (!Array.isArray(read) || read.length === 0) return null;
  const all = Array.isArray(read[0]) ? read : [read];
  const dimension = all[0].length;
  const good = all.every((row) => Array.isArray(row) && row.length === dimension && row.every((v) => typeof v === 'number'));
  return good && dimension > 0 ? {rows: all.length, dimension, values: Float32Array.from(all.flat())} : null;
}
