// SPDX-License-Identifier: Apache-2.0
// The whole fuse-and-match route between HEFT and SEAL, profile compact, N = 8192. First, a client
// with only SEAL, and our server's program; then our keys and ciphertexts, with fusion and matching
// in SEAL.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { admitWaiting, allowScores, assertClose, must, programs, run, Suite, workplace } from './helpers.mjs';
import { compactSlots, dot, fuse, trained, unit } from './model.mjs';
import { contextOf, modes, parametersOf, Party, save, scoped, seal } from './party.mjs';

const suite = new Suite();
const folder = workplace();
const at = (name) => `${folder}/${name}`;
const { engine, exchange, heft, server } = programs;
const json = (program, ...args) => JSON.parse(must(program, ...args, '--json', '--quiet'));

// --- A model, and vectors of people.
const { model, names, data, vectorsOf } = trained(folder, 'compact', [24, 16]);
const enrolled = [0, 4, 8, 12]; // the first sample of four people
const people = ['ann', 'bob', 'cora', 'dan'];
const probe = 5; // another sample of bob
const cosines = enrolled.map((row) => dot(fuse(model, vectorsOf(row)), fuse(model, vectorsOf(probe))));

// --- The client: SEAL only.
const plan = json(exchange, 'export', 'parameters', '--model', at('m.heft'), '--out', at('parms'));
const { parameters, context } = contextOf(readFileSync(at('parms')));
const client = new Party(context);
client.makeKeys();
save(at('relin.seal'), client.generator.createRelinKeysSerializable(), modes.zstd);
const steps = Int32Array.from([0, ...plan.rotation_steps]);
save(at('galois.seal'), client.generator.createGaloisKeysSerializable(steps));
save(at('public.seal'), client.publicKey, modes.zlib);
save(at('secret.seal'), client.secretKey);

suite.test('SEAL takes our parameters, and names them as we do', () => {
  assert.deepEqual(Array.from(parameters.coeffModulus, Number), plan.primes);
  assert.equal(parameters.polyModulusDegree, plan.degree);
});

const evaluation = json(exchange, 'import', 'evaluation-keys', '--model', at('m.heft'),
  '--relin', at('relin.seal'), '--galois', at('galois.seal'), '--out', at('evaluation.keys'));
suite.test('our server takes SEAL\'s evaluation keys', () =>
  assert.equal(evaluation.galois_keys, plan.rotation_steps.length + 1));

suite.test('Galois keys that lack a step are refused, by name', () => {
  save(at('few.seal'), client.generator.createGaloisKeysSerializable(steps.slice(0, -1)));
  const done = run(exchange, 'import', 'evaluation-keys', '--model', at('m.heft'),
    '--relin', at('relin.seal'), '--galois', at('few.seal'), '--out', at('few.keys'));
  assert.equal(done.status, 3);
  assert.match(done.stderr, new RegExp(`lacks the Galois keys of these steps.* ${steps.at(-1)} `));
});

// Encrypts one modality of rows with SEAL and imports the files.
function importSamples(index, rows, labels, out) {
  const { name, run: repeat } = plan.modalities[index];
  const files = rows.map((row, i) =>
    scoped((hold) => {
      const path = at(`${name}-${out}-${i}.seal`);
      const slots = compactSlots(unit(data[index][row]), repeat, plan.gamma, plan.degree / 2);
      const plain = hold(client.encode(slots, plan.scale));
      // Public-key and seeded secret-key encryptions alternate.
      const encrypt = i % 2 === 0 ? 'encryptSerializable' : 'encryptSymmetricSerializable';
      save(path, hold(client.encryptor[encrypt](plain)), Object.values(modes)[i % 3]);
      return path;
    }));
  must(exchange, 'import', 'samples', '--model', at('m.heft'), '--modality', name, '--key-id-of',
    at('evaluation.keys'), '--in', ...files, '--label', ...labels, '--out', at(`${name}-${out}.ct`));
  return at(`${name}-${out}.ct`);
}
const common = ['--model', at('m.heft'), '--keys', at('evaluation.keys'), '--gallery', at('gallery'),
  '--unchecked'];
const templates = names.map((_, i) => importSamples(i, enrolled, people, 'enrol'));
const probes = names.map((_, i) => importSamples(i, [probe], ['probe'], 'probe'));
const inputs = (files) => files.flatMap((file) => ['--in', file]);

suite.test('our server enrols what SEAL encrypted', () =>
  must(server, 'enrol', ...common, ...inputs(templates)));

// --- The key owner takes SEAL's secret key, and admits the templates.
suite.test('heft and heft-server name heft-seal instead of its commands', () => {
  for (const program of [heft, server]) {
    const refused = run(program, 'seal', 'import', 'secret-key', '--in', at('secret.seal'));
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /"seal" is no command: did you mean heft-seal\?/);
    assert.equal(run(program, 'import', 'secret-key').status, 2);
  }
});

suite.test('the secret key is taken from a file that only its owner can read', () => {
  const readable = run(exchange, 'import', 'secret-key', '--model', at('m.heft'), '--in', at('secret.seal'),
    '--out', at('secret.key'));
  assert.equal(readable.status, 3);
  assert.match(readable.stderr, /others may read this secret/);
  chmodSync(at('secret.seal'), 0o600);
  must(exchange, 'import', 'secret-key', '--model', at('m.heft'), '--in', at('secret.seal'),
    '--key-id-of', at('evaluation.keys'), '--out', at('secret.key'));
  assert.equal(statSync(at('secret.key')).mode & 0o777, 0o600);
});
must(heft, 'keygen', '--model', at('m.heft'), '--secret-key', at('secret.key'), '--out', at('keys'));
admitWaiting(at, ['--model', at('m.heft'), '--keys', at('keys/evaluation.keys'), '--gallery', at('gallery')],
  at('secret.key'), at('keys'));

suite.test('samples at another scale or level are refused, and nothing is written', () => {
  const other = (name, change) =>
    scoped((hold) => {
      const plain = hold(client.encode([1], plan.scale * (name === 'scale' ? 2 : 1)));
      const ciphertext = hold(client.encryptor.encrypt(plain));
      save(at(`other-${name}.seal`), change(hold, ciphertext));
      const done = run(exchange, 'import', 'samples', '--model', at('m.heft'), '--modality', names[0],
        '--key-id-of', at('evaluation.keys'), '--in', at(`other-${name}.seal`), '--out', at('other.ct'));
      assert.equal(done.status, 3);
      assert.match(done.stderr, /a fresh one with/);
      assert.ok(!existsSync(at('other.ct')));
    });
  other('scale', (hold, ciphertext) => ciphertext);
  other('level', (hold, ciphertext) => hold(client.evaluator.cipherModSwitchToNext(ciphertext)));
});

must(server, 'identify', ...common, ...inputs(probes), '--out', at('scores.ct'));
const exported = json(exchange, 'export', 'scores', '--model', at('m.heft'), '--in', at('scores.ct'),
  '--out', at('scores'));
suite.test('SEAL decrypts the scores of an identification, which are the plain cosines', () => {
  assert.deepEqual(exported.identities, people);
  const ciphertext = client.load('CipherText', at(`scores/${exported.replies[0].file}`));
  assertClose(client.decrypt(ciphertext).slice(0, people.length), cosines, 5e-3);
});

must(server, 'verify', ...common, '--identity', 'bob', ...inputs(probes), '--out', at('score.ct'));
suite.test('SEAL decrypts the score of a verification', () => {
  const reply = json(exchange, 'export', 'scores', '--model', at('m.heft'), '--in', at('score.ct'),
    '--out', at('score'));
  const { file, answers } = reply.replies[0];
  const slots = client.decrypt(client.load('CipherText', at(`score/${file}`)));
  assertClose([slots[answers[0].slot]], [cosines[1]], 5e-3);
});

suite.test('heft decrypt opens the same scores with SEAL\'s secret key', () => {
  allowScores(at('m.heft'), at('secret.key'));
  const { candidates } = json(heft, 'decrypt', '--unchecked', '--model', at('m.heft'), '--secret-key', at('secret.key'),
    '--in', at('scores.ct'), '--scores');
  assert.equal(candidates[0].identity, people[cosines.indexOf(Math.max(...cosines))]);
  assertClose(candidates.map((c) => c.score), candidates.map((c) => cosines[people.indexOf(c.identity)]), 5e-3);
});

suite.test('HEFT\'s client encrypts under SEAL\'s public key, and SEAL decrypts', () => {
  must(exchange, 'import', 'encryption-key', '--model', at('m.heft'), '--in', at('public.seal'),
    '--key-id-of', at('evaluation.keys'), '--out', at('encryption.key'));
  must(heft, 'encrypt', '--unchecked', '--model', at('m.heft'), '--key', at('encryption.key'), '--modality', names[0], '--in',
    at(`data/${names[0]}.npy`), '--row', probe, '--out', at('ours.ct'));
  must(exchange, 'export', 'samples', '--model', at('m.heft'), '--in', at('ours.ct'), '--out', at('ours'));
  const slots = compactSlots(unit(data[0][probe]), plan.modalities[0].run, plan.gamma, plan.degree / 2);
  assertClose(client.decrypt(client.load('CipherText', at('ours/0.seal'))), slots, 2e-4, 1e-5);
});

suite.test('the secret key goes to HEFT and back', () => {
  must(exchange, 'export', 'secret-key', '--model', at('m.heft'), '--secret-key', at('secret.key'), '--out',
    at('again.seal'));
  assert.deepEqual(readFileSync(at('again.seal')), readFileSync(at('secret.seal')));
});

// --- The other way round: our engine makes keys and encrypts, SEAL fuses and matches, we decrypt.
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
  const vectors = { template: vectorsOf(enrolled[1]), probe: vectorsOf(probe) };
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
  assertClose(fuseAndMatchInSeal().slice(0, 8), new Array(8).fill(cosines[1]), 3e-2, 2e-2);
});

suite.finish(13);
