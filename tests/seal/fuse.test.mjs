// SPDX-License-Identifier: Apache-2.0
// Fusion with normalisation, and a match, in SEAL: our engine makes keys and encrypts at N = 8192, SEAL computes, and
// our engine decrypts.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { assertClose, must, programs, Suite, workplace } from './helpers.mjs';
import { compactSlots, dot, fuse, trained, unit } from './model.mjs';
import { contextOf, modes, parametersOf, Party, save, scoped } from './party.mjs';

const suite = new Suite();
const folder = workplace();
const at = (name) => `${folder}/${name}`;
const { engine } = programs;

const { model, vectorsOf } = trained(folder, 'standard', [24, 16]);
const enrolled = 4; // the first sample of bob
const probe = 5; // another sample of bob
const cosine = dot(fuse(model, vectorsOf(enrolled)), fuse(model, vectorsOf(probe)));

// Levels: projection, norm, its square, its application, match. Modalities are encrypted one after
// the other, since node-seal encodes only real slots.
function fuseAndMatchInSeal() {
  const degree = 8192;
  const slots = degree / 2;
  const { gamma } = model;
  const scale = 2 ** 28;
  mkdirSync(at('reverse'));
  const into = (name) => at(`reverse/${name}`);
  const parameters = parametersOf(degree, [30, 28, 28, 28, 28, 28, 30]);
  save(into('parms'), parameters);
  const doublings = (from, to) => {
    const out = [];
    for (let step = from; step < to; step *= 2) out.push(step);
    return out;
  };
  // One value in each slot: run 1, so that a row of gamma slots holds one coordinate.
  const vectors = { template: vectorsOf(enrolled), probe: vectorsOf(probe) };
  const encoded = {};
  for (const [who, modalities] of Object.entries(vectors)) {
    modalities.forEach((v, i) => (encoded[`${who}-${i}`] = compactSlots(unit(v), 1, gamma, slots)));
  }
  writeFileSync(into('inputs.json'), JSON.stringify({ scale, slots: encoded }));
  must(engine, 'make', at('reverse'), ...doublings(1, gamma), ...doublings(gamma, slots));
  const party = new Party(contextOf(readFileSync(into('parms'))).context);
  const { evaluator } = party;
  const relin = party.load('RelinKeys', into('relin_keys'));
  const galois = party.load('GaloisKeys', into('galois_keys'));
  const fold = (h, c, steps) =>
    steps.reduce((sum, step) => h(evaluator.add(sum, h(evaluator.rotateVector(sum, step, galois)))), c);
  const times = (h, x, y) =>
    h(evaluator.rescaleToNext(h(evaluator.relinearize(h(evaluator.multiply(x, y)), relin))));
  const constant = (h, value, c) =>
    h(evaluator.plainModSwitchTo(h(party.encode(new Array(slots).fill(value), c.scale)), h(c.parmsId)));
  const down = (h, c, to) => h(evaluator.cipherModSwitchTo(c, h(to.parmsId)));

  // c0 + c1 u + c2 u^2 with u = (s - centre) / half is computed as k ((s + a)^2 + b). k goes into
  // the scale: the scale of z is chosen so that the template has scale `scale`.
  const { centre, half, coefficients: [c0, c1, c2] } = model.stages[0];
  const k = c2 / half ** 2;
  const a = (c1 * half) / (2 * c2) - centre;
  const b = c0 / k - (a + centre) ** 2;
  const q = Array.from(parameters.coeffModulus, Number);
  const zScale = (scale * k * q[4] ** 2 * q[3] * q[2]) ** (1 / 5);

  const fused = (h, who) => {
    let column = 0;
    let z;
    model.modalities.forEach(({ dimension }, i) => {
      const factor = Array.from({ length: slots }, (_, t) => {
        const d = Math.floor(t / gamma);
        return d < dimension ? model.projection[(t % gamma) * model.total + column + d] : 0;
      });
      const part = h(evaluator.multiplyPlain(
        h(party.load('CipherText', into(`${who}-${i}`))),
        h(party.encode(factor, (zScale * q[5]) / scale))));
      z = z ? h(evaluator.add(z, part)) : part;
      column += dimension;
    });
    z = fold(h, h(evaluator.rescaleToNext(z)), doublings(gamma, slots));
    const s = fold(h, times(h, z, z), doublings(1, gamma));
    const shifted = h(evaluator.addPlain(s, constant(h, a, s)));
    const square = times(h, shifted, shifted);
    const sum = h(evaluator.addPlain(square, constant(h, b, square)));
    const out = times(h, sum, down(h, z, sum));
    out.setScale(out.scale / k);
    return out;
  };
  scoped((h) => {
    const product = times(h, fused(h, 'template'), fused(h, 'probe'));
    save(into('score'), fold(h, product, doublings(1, gamma)), modes.zstd);
  });
  return JSON.parse(must(engine, 'decrypt', at('reverse'), 'score')).score;
}

suite.test('SEAL fuses and matches what our engine encrypted, and our engine decrypts the cosine', () => {
  assert.equal(model.stages.length, 1);
  assert.equal(model.stages[0].coefficients.length, 3, 'a quadratic');
  assertClose(fuseAndMatchInSeal().slice(0, 8), new Array(8).fill(cosine), 3e-2, 2e-2);
});

suite.finish(1);
