// SPDX-License-Identifier: Apache-2.0
// Every operation of our evaluator under SEAL's keys, decrypted by SEAL; and SEAL's operations
// under our keys, decrypted by us. N = 4096, with SEAL's primes and with those of the matching ring
// of profile standard, 8192, 16384.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { assertClose, must, programs, run, Suite, workplace } from './helpers.mjs';
import { contextOf, modes, parametersOf, parametersWith, Party, save, scoped, seal } from './party.mjs';

const suite = new Suite();
const folder = workplace();
const { engine } = programs;

// SEAL does not centre digits, so its key switching has larger errors in the slots near zeta = 1.
// Their standard deviation is N / pi * sqrt(10.5 N L) / scale, where q and P are alike and there
// are L such primes (27, 26 and 25 bits under 28 count as a third of one). `sealWorst` is eight
// deviations; the root mean square stays within `tolerance`. Keys are drawn anew in every run. The
// error of our engine has a root mean square below a tenth of `tolerance`, and a slot exceeds twice
// that once in 10^15 runs.
const sets = [
  { degree: 4096, bits: [30, 23, 23, 30], scale: 2 ** 23, tolerance: 1e-2, sealWorst: 0.26 },
  {
    name: '4096, thin',
    degree: 4096,
    primes: [133857281, 67043329, 33538049, 268369921], // 27, 26, 25; 28 bits
    scale: 2 ** 25,
    tolerance: 1.5e-3,
    sealWorst: 0.04,
  },
  { degree: 8192, bits: [30, 28, 28, 28, 30], scale: 2 ** 28, tolerance: 1e-3, sealWorst: 0.025 },
  {
    degree: 16384,
    bits: [30, 28, 28, 28, 28, 28, 30],
    scale: 2 ** 28,
    tolerance: 2e-3,
    sealWorst: 0.1,
  },
];

const nameOf = ({ name, degree }) => name ?? `${degree}`;
const makeParameters = ({ degree, bits, primes }) =>
  primes ? parametersWith(degree, primes) : parametersOf(degree, bits);

const vector = (degree, seed) =>
  Array.from({ length: degree / 2 }, (_, j) => Math.sin((j + 1) * seed) * 0.99);
const zip = (x, y, f) => x.map((v, j) => f(v, y[j]));
const rotate = (x, steps) => x.map((_, j) => x[(j + steps + x.length) % x.length]);
const sum = (...vectors) => vectors.reduce((x, y) => zip(x, y, (u, v) => u + v));
const product = (x, y) => zip(x, y, (u, v) => u * v);

// expectedOf: the results of our operations on a, b and p.
function expectedOf(a, b, p) {
  const rotations = sum(a, rotate(a, 1), rotate(a, 2));
  return {
    add: sum(a, b),
    subtract: zip(a, b, (x, y) => x - y),
    add_plain: sum(a, p),
    negate: a.map((x) => -x),
    add_constant: a.map((x) => x + 0.375),
    multiply_plain: product(a, p),
    multiply: product(a, b),
    square: product(a, a),
    multiply_integer: a.map((x) => -3 * x),
    multiply_by_monomial: a.map((x) => -x),
    rescale: product(a, p),
    drop_limbs: a,
    relinearise: product(a, b),
    relinearise_and_rescale: product(a, b),
    relinearise_lower: product(product(a, b), product(a, b)),
    rotate_left: rotate(a, 2),
    rotate_right: rotate(a, -1),
    conjugate: a,
    apply_galois: rotate(a, 1),
    hoisted: zip(rotate(a, 1), rotate(a, 2), (x, y) => x + 2 * y),
    sum_galois: rotations,
    sum_galois_and_rescale: sum(product(a, p), rotate(product(a, p), 1), rotate(product(a, p), 2)),
    sum_galois_products: product(p, rotations),
    encrypt: p,
  };
}

let expectedCases = 0;

// SEAL makes keys and encrypts, our engine computes, SEAL decrypts.
function sealToEngine(set) {
  const { degree, scale, tolerance } = set;
  const name = nameOf(set);
  const at = `${folder}/seal-${name}`;
  mkdirSync(at);
  const parameters = makeParameters(set);
  save(`${at}/parms`, parameters, modes.zstd);
  const { context } = contextOf(parameters.saveArray(modes.none));
  const party = new Party(context);
  party.makeKeys();
  const [a, b, p] = [0.7, 1.3, 2.1].map((seed) => vector(degree, seed));
  // Every form of an object: both halves or a seed; none, zlib or zstd.
  const { generator, encryptor } = party;
  const steps = Int32Array.from([0, 1, 2, -1]);
  const seeded = degree !== 4096;
  const publicKey = seeded ? generator.createPublicKeySerializable() : party.publicKey;
  save(`${at}/public_key`, publicKey, modes.zlib);
  save(`${at}/relin_keys`,
    seeded ? generator.createRelinKeysSerializable() : generator.createRelinKeys(), modes.zstd);
  save(`${at}/galois_keys`,
    seeded ? generator.createGaloisKeysSerializable(steps) : generator.createGaloisKeys(steps),
    seeded ? modes.none : modes.zlib);
  scoped((hold) => {
    save(`${at}/a`, hold(encryptor.encrypt(hold(party.encode(a, scale)))));
    const plain = hold(party.encode(b, scale));
    const object = hold(encryptor.encryptSymmetricSerializable(plain));
    save(`${at}/b`, object, modes.zstd);
    save(`${at}/p`, hold(party.encode(p, scale)), modes.zlib);
  });
  const done = must(engine, 'compute', at).trim().split('\n');
  const expected = expectedOf(a, b, p);
  expectedCases += Object.keys(expected).length + 1;
  suite.test(`N = ${name}, SEAL to HEFT: the engine computed every operation`, () =>
    assert.deepEqual(done.sort(), Object.keys(expected).sort()));
  for (const [operation, slots] of Object.entries(expected)) {
    suite.test(`N = ${name}, SEAL to HEFT: ${operation}`, () =>
      scoped((hold) =>
        assertClose(
          party.decrypt(hold(party.load('CipherText', `${at}/out.${operation}`))), slots, 2 * tolerance,
          tolerance / 4)));
  }
}

// Our engine makes keys and encrypts, SEAL computes, our engine decrypts.
function engineToSeal(set) {
  const { degree, scale, tolerance, sealWorst } = set;
  const name = nameOf(set);
  const at = `${folder}/heft-${name}`;
  mkdirSync(at);
  const parameters = makeParameters(set);
  save(`${at}/parms`, parameters);
  const [a, b] = [0.9, 1.7].map((seed) => vector(degree, seed));
  writeFileSync(`${at}/inputs.json`, JSON.stringify({ scale, slots: { a, b } }));
  must(engine, 'make', at, 0, 1, -2);
  const { context } = contextOf(readFileSync(`${at}/parms`));
  const party = new Party(context);
  const { evaluator } = party;
  const load = (kind, name) => party.load(kind, `${at}/${name}`);
  const x = load('CipherText', 'a');
  const y = load('CipherText', 'b.seeded');
  const plain = load('PlainText', 'b.plain');
  const relin = load('RelinKeys', 'relin_keys');
  const galois = load('GaloisKeys', 'galois_keys');
  const ab = product(a, b);
  const cases = {
    add: [(h) => evaluator.add(x, y), sum(a, b)],
    subtract: [(h) => evaluator.sub(x, y), zip(a, b, (u, v) => u - v)],
    negate: [(h) => evaluator.negate(x), a.map((v) => -v)],
    add_plain: [(h) => evaluator.addPlain(x, plain), sum(a, b)],
    multiply_plain: [(h) => evaluator.multiplyPlain(x, plain), ab],
    multiply: [(h) => evaluator.multiply(x, y), ab],
    square: [(h) => evaluator.square(x), product(a, a)],
    relinearise: [(h) => evaluator.relinearize(h(evaluator.multiply(x, y)), relin), ab],
    rescale: [
      (h) => evaluator.rescaleToNext(h(evaluator.relinearize(h(evaluator.multiply(x, y)), relin))), ab],
    mod_switch: [(h) => evaluator.cipherModSwitchToNext(x), a],
    rotate_left: [(h) => evaluator.rotateVector(x, 1, galois), rotate(a, 1)],
    rotate_right: [(h) => evaluator.rotateVector(x, -2, galois), rotate(a, -2)],
    conjugate: [(h) => evaluator.complexConjugate(x, galois), a],
    encrypt: [
      (h) => h(seal.Encryptor(context, h(load('PublicKey', 'public_key')))).encrypt(plain), b],
    encrypt_under_a_seeded_key: [
      (h) => h(seal.Encryptor(context, h(load('PublicKey', 'public_key_seeded')))).encrypt(plain), b],
  };
  for (const [i, [key, [operation]]] of Object.entries(cases).entries()) {
    scoped((hold) =>
      save(`${at}/out.${key}`, hold(operation(hold)), Object.values(modes)[i % 3]));
  }
  const names = Object.keys(cases);
  const opened = JSON.parse(must(engine, 'decrypt', at, ...names.map((key) => `out.${key}`)));
  expectedCases += names.length + 1;
  for (const [key, [, slots]] of Object.entries(cases)) {
    suite.test(`N = ${name}, HEFT to SEAL: ${key}`, () =>
      assertClose(opened[`out.${key}`], slots, sealWorst, tolerance));
  }
  suite.test(`N = ${name}, HEFT to SEAL: SEAL decrypts with our secret key`, () => {
    party.makeKeys(readFileSync(`${at}/secret_key`));
    assertClose(party.decrypt(x), a, tolerance);
    assertClose(party.decrypt(y), b, tolerance);
  });
}

function refusals() {
  expectedCases += 2;
  suite.test('primes of more than 30 bits are refused, with the reason', () => {
    const at = `${folder}/large`;
    mkdirSync(at);
    save(`${at}/parms`, parametersOf(8192, [40, 30, 40]));
    const done = run(engine, 'check', at);
    assert.equal(done.status, 3);
    assert.match(done.stderr, /this engine takes primes of at most 30/);
  });
  suite.test('ciphertexts of other parameters are refused, with the reason', () => {
    const at = `${folder}/seal-8192`;
    const other = `${folder}/heft-4096`;
    writeFileSync(`${at}/foreign`, readFileSync(`${other}/a`));
    const done = run(engine, 'check', at, 'foreign');
    assert.equal(done.status, 3);
    assert.match(done.stderr, /made with other SEAL parameters/);
  });
}

for (const set of sets) {
  sealToEngine(set);
  engineToSeal(set);
}
refusals();
suite.finish(expectedCases);
