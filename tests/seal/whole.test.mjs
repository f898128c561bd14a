// SPDX-License-Identifier: Apache-2.0
// The whole route between HEFT and SEAL. Samples are enrolled and verified at N = 8192 and identified at N = 4096 with
// the four primes of the matching ring. First, a client with only SEAL, and our programs; then our keys and thin
// probes, with projection, norm and match in SEAL.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { activatePending, allowScores, assertClose, must, programs, run, Suite, workplace } from './helpers.mjs';
import { compactSlots, dot, fuse, project, trained, unit } from './model.mjs';
import { contextOf, modes, Party, save, scoped } from './party.mjs';

const suite = new Suite();
const folder = workplace();
const at = (name) => `${folder}/${name}`;
const { engine, exchange, heft, server } = programs;
const of = ['--model', at('m.heft')];
const json = (program, ...args) => JSON.parse(must(program, ...args, '--json', '--quiet'));
const rings = ['matching', 'enrolment'];

// refuses: runs a program that must refuse with this message on stderr, and write nothing to `out`.
function refuses(status, message, out, program, ...args) {
  const done = run(program, ...args, ...(out ? ['--out', out] : []));
  assert.equal(done.status, status, done.stderr);
  assert.match(done.stderr, message);
  if (out) assert.ok(!existsSync(out), out);
}

// --- A model, and vectors of people. 256 coordinates: run 2 at N = 4096, run 1 at N = 8192.
const { model, names, data, vectorsOf } = trained(folder, 'standard', [256, 16]);
const enrolled = [0, 4, 8, 12]; // the first sample of four people
const people = ['ann', 'bob', 'cora', 'dan'];
const probe = 5; // another sample of bob
const exactProbe = unit(project(model, vectorsOf(probe)));
const cosines = enrolled.map((row) => dot(fuse(model, vectorsOf(row)), exactProbe));

// --- The client: only SEAL, two rings, each with keys of its own.
const plans = {};
const clients = {};
for (const ring of rings) {
  plans[ring] = json(exchange, 'export', 'parameters', ...of, '--ring', ring, '--out', at(`parms.${ring}`));
  const client = new Party(contextOf(readFileSync(at(`parms.${ring}`))).context);
  client.makeKeys();
  save(at(`secret.${ring}`), client.secretKey);
  chmodSync(at(`secret.${ring}`), 0o600);
  save(at(`public.${ring}`), client.publicKey, modes.zlib);
  clients[ring] = client;
}
const small = clients.matching;
const steps = Int32Array.from([0, ...plans.matching.rotation_steps]);
save(at('relin.seal'), small.generator.createRelinKeysSerializable(), modes.zstd);
save(at('galois.seal'), small.generator.createGaloisKeysSerializable(steps));

suite.test('SEAL takes the parameters of both rings; the matching ring\'s are the default', () => {
  assert.equal(plans.matching.degree, 4096);
  assert.deepEqual(plans.matching.primes, [133857281, 67043329, 33538049, 268369921]);
  assert.equal(plans.enrolment.degree, 8192);
  assert.deepEqual(plans.enrolment.primes.slice(0, 4), plans.matching.primes);
  assert.deepEqual(plans.matching.modalities.map((m) => m.run), [2, 2]);
  assert.deepEqual(plans.enrolment.modalities.map((m) => m.run), [1, 1]);
  assert.deepEqual(plans.enrolment.rotation_steps, []);
  const { degree, ring } = json(exchange, 'export', 'parameters', ...of, '--out', at('parms.default'));
  assert.deepEqual([degree, ring], [4096, 'matching']);
});

const evaluation = json(exchange, 'import', 'evaluation-keys', ...of, '--relin', at('relin.seal'), '--galois',
  at('galois.seal'), '--out', at('evaluation.keys'));
const sameKey = ['--key-id-of', at('evaluation.keys')];
suite.test('our server takes SEAL\'s evaluation keys of the matching ring', () =>
  assert.equal(evaluation.galois_keys, plans.matching.rotation_steps.length + 1));

suite.test('Galois keys that lack a step are refused, by name', () => {
  save(at('few.seal'), small.generator.createGaloisKeysSerializable(steps.slice(0, -1)));
  refuses(3, new RegExp(`lacks the Galois keys of these steps.* ${steps.at(-1)} `), at('few.keys'), exchange, 'import',
    'evaluation-keys', ...of, '--relin', at('relin.seal'), '--galois', at('few.seal'));
});

suite.test('heft and heft-server name heft-seal instead of its commands', () => {
  for (const program of [heft, server]) {
    refuses(2, /"seal" is no command: did you mean heft-seal\?/, null, program, 'seal', 'import', 'secret-key');
    assert.equal(run(program, 'import', 'secret-key').status, 2);
  }
});

suite.test('evaluation keys of the enrolment ring are refused, with what to do', () => {
  const { generator } = clients.enrolment;
  save(at('relin.large'), generator.createRelinKeysSerializable());
  save(at('galois.large'), generator.createGaloisKeysSerializable(Int32Array.from([0, 1])));
  for (const [relin, galois] of [['relin.seal', 'galois.large'], ['relin.large', 'galois.seal']]) {
    refuses(3, /needed: one of the matching ring, N = 4096\); .* make them with heft keygen --secret-key/,
      at('large.keys'), exchange, 'import', 'evaluation-keys', ...of, '--relin', at(relin), '--galois', at(galois));
  }
});

// --- The key owner takes both secret keys, and makes the enrolment keys.
suite.test('a secret key of one ring alone, or of the other ring, is refused', () => {
  const args = ['import', 'secret-key', ...of, ...sameKey];
  refuses(2, /--enrolment-in/, at('one.key'), exchange, ...args, '--in', at('secret.matching'));
  refuses(3, /needed: one of the matching ring, N = 4096/, at('one.key'), exchange, ...args, '--in',
    at('secret.enrolment'), '--enrolment-in', at('secret.matching'));
  refuses(3, /needed: one of the enrolment ring, N = 8192/, at('one.key'), exchange, ...args, '--in',
    at('secret.matching'), '--enrolment-in', at('secret.matching'));
});
const takeSecrets = ['import', 'secret-key', ...of, ...sameKey, '--in', at('secret.matching'), '--enrolment-in',
  at('secret.enrolment')];
suite.test('the secret keys are taken from files that only their owner can read', () => {
  chmodSync(at('secret.enrolment'), 0o644);
  refuses(3, /others may read this secret/, at('secret.key'), exchange, ...takeSecrets);
  chmodSync(at('secret.enrolment'), 0o600);
  must(exchange, ...takeSecrets, '--out', at('secret.key'));
  assert.equal(statSync(at('secret.key')).mode & 0o777, 0o600);
});
suite.test('the secret keys go to HEFT and back', () => {
  for (const ring of rings) {
    must(exchange, 'export', 'secret-key', ...of, '--secret-key', at('secret.key'), '--ring', ring, '--out',
      at(`again.${ring}`));
    assert.deepEqual(readFileSync(at(`again.${ring}`)), readFileSync(at(`secret.${ring}`)));
  }
});
json(heft, 'keygen', ...of, '--secret-key', at('secret.key'), '--out', at('keys'));

// Encrypts one modality of rows with SEAL, in a ring, and imports the files.
function importSamples(ring, index, rows, labels, out) {
  const { modalities, gamma, degree, scale } = plans[ring];
  const { name, run: repeat } = modalities[index];
  const client = clients[ring];
  const files = rows.map((row, i) =>
    scoped((hold) => {
      const path = at(`${name}-${out}-${i}.seal`);
      const plain = hold(client.encode(compactSlots(unit(data[index][row]), repeat, gamma, degree / 2), scale));
      // Public-key and seeded secret-key encryptions alternate.
      const encrypt = i % 2 === 0 ? 'encryptSerializable' : 'encryptSymmetricSerializable';
      save(path, hold(client.encryptor[encrypt](plain)), Object.values(modes)[i % 3]);
      return path;
    }));
  must(exchange, 'import', 'samples', ...of, '--modality', name, ...sameKey, '--in', ...files, '--label', ...labels,
    '--out', at(`${name}-${out}.ct`));
  return ['--in', at(`${name}-${out}.ct`)];
}
const importAll = (ring, rows, labels, out) =>
  names.flatMap((_, index) => importSamples(ring, index, rows, labels, out));
const templates = importAll('enrolment', enrolled, people, 'enrol');
const claims = importAll('enrolment', [probe], ['probe'], 'claim');
const probes = importAll('matching', [probe], ['probe'], 'probe');
const identifying = [...of, '--keys', at('evaluation.keys'), '--gallery', at('gallery'), '--unchecked'];
const enrolling = [...identifying, '--enrolment-keys', at('keys/enrolment.keys')];

suite.test('our server enrols what SEAL encrypted in the enrolment ring, and nothing else', () => {
  refuses(3, /thin probes, encrypted for identification/, null, server, 'enrol', ...enrolling, ...probes);
  assert.ok(!existsSync(at('gallery/gallery.heft')));
  must(server, 'enrol', ...enrolling, ...templates);
});
const signed = (folder, gallery) => [...of, '--keys', at(`${folder}/evaluation.keys`), '--gallery', at(gallery)];
activatePending(at, signed('keys', 'gallery'), at('secret.key'), at('keys'));

suite.test('one file of samples is of one ring', () =>
  refuses(3, /needed: one of the matching ring, N = 4096/, at('mixed.ct'), exchange, 'import', 'samples', ...of,
    ...sameKey, '--modality', names[1], '--in', at(`${names[1]}-probe-0.seal`), at(`${names[1]}-claim-0.seal`)));

suite.test('ciphertexts at another level or scale are refused in the matching ring too', () => {
  for (const change of ['scale', 'level']) {
    scoped((hold) => {
      const plain = hold(small.encode([1], plans.matching.scale * (change === 'scale' ? 2 : 1)));
      const fresh = hold(small.encryptor.encrypt(plain));
      save(at('other.seal'), change === 'level' ? hold(small.evaluator.cipherModSwitchToNext(fresh)) : fresh);
    });
    refuses(3, /a fresh one with/, at('other.ct'), exchange, 'import', 'samples', ...of, ...sameKey, '--modality',
      names[0], '--in', at('other.seal'));
  }
});

// openInSeal: SEAL decrypts exported scores to the cosines of the answers.
function openInSeal(scores, out, slotsOf) {
  const reply = json(exchange, 'export', 'scores', ...of, '--in', at(scores), '--out', at(out));
  const decrypted = (file) => small.decrypt(small.load('CipherText', at(`${out}/${file}`)));
  const mean = (file) => decrypted(file).reduce((sum, x, _, all) => sum + x / all.length, 0);
  const factor = -mean(reply.squared_norm_turned);
  const length = Math.sqrt(mean(reply.squared_norm) / (1 - factor * factor));
  const slots = decrypted(reply.replies[0].file);
  return { reply, length, cosines: slotsOf(reply).map((slot) => (reply.factors[slot] * slots[slot]) / length) };
}

// An identification needs only SEAL's evaluation keys, not the enrolment keys.
must(server, 'identify', ...identifying, ...probes, '--out', at('scores.ct'));
suite.test('SEAL decrypts the scores of an identification and divides them by the norm: cosines', () => {
  const opened = openInSeal('scores.ct', 'scores', () => people.map((_, position) => position));
  assert.deepEqual(opened.reply.identities, people);
  assertClose([opened.length], [Math.hypot(...project(model, vectorsOf(probe)))], 2e-4);
  assertClose(opened.cosines, cosines, 1.5e-3);
});

must(server, 'identify', ...identifying, '--degree-two', ...probes, '--out', at('scores-2.ct'));
suite.test('SEAL decrypts scores of degree two, in three parts', () => {
  const opened = openInSeal('scores-2.ct', 'scores-2', () => people.map((_, position) => position));
  assertClose(opened.cosines, cosines, 1.5e-3);
});

suite.test('samples of the enrolment ring are refused as probes of an identification', () =>
  refuses(3, /encrypted for enrolment or verification/, at('no.ct'), server, 'identify', ...identifying, ...claims));

must(server, 'verify', ...enrolling, '--identity', 'bob', ...claims, '--out', at('score.ct'));
suite.test('SEAL decrypts the score of a verification', () => {
  const opened = openInSeal('score.ct', 'score', (reply) => reply.replies[0].answers.map(({ slot }) => slot));
  assertClose(opened.cosines, [cosines[1]], 1.5e-3);
});

suite.test('heft decrypt opens the same scores with SEAL\'s secret keys', () => {
  allowScores(at('m.heft'), at('secret.key'));
  const { candidates } = json(heft, 'decrypt', '--unchecked', ...of, '--secret-key', at('secret.key'), '--in', at('scores.ct'), '--scores');
  assert.equal(candidates[0].identity, people[cosines.indexOf(Math.max(...cosines))]);
  assertClose(candidates.map((c) => c.score), candidates.map((c) => cosines[people.indexOf(c.identity)]), 2e-3);
});

// encryptsForSeal: SEAL decrypts the samples of HEFT's client to their slots, in one ring.
function encryptsForSeal(key, ring, client, out) {
  const { modalities, gamma, degree } = plans[ring];
  const use = ring === 'matching' ? 'identification' : 'enrolment';
  must(heft, 'encrypt', '--unchecked', ...of, '--key', key, '--modality', names[0], '--in', at(`data/${names[0]}.npy`), '--row', probe,
    '--for', use, '--out', at(`${out}.ct`));
  must(exchange, 'export', 'samples', ...of, '--in', at(`${out}.ct`), '--out', at(out));
  const slots = compactSlots(unit(data[0][probe]), modalities[0].run, gamma, degree / 2);
  assertClose(client.decrypt(client.load('CipherText', at(`${out}/0.seal`))), slots, 2e-4, 1e-5);
}

suite.test('SEAL\'s public keys of both rings make one encryption key', () => {
  const args = ['import', 'encryption-key', ...of, ...sameKey];
  refuses(2, /--enrolment-in is required/, at('one.key'), exchange, ...args, '--in', at('public.matching'));
  refuses(3, /needed: one of the (matching|enrolment) ring/, at('one.key'), exchange, ...args, '--in',
    at('public.enrolment'), '--enrolment-in', at('public.matching'));
  must(exchange, ...args, '--in', at('public.matching'), '--enrolment-in', at('public.enrolment'), '--out',
    at('encryption.key'));
  for (const ring of rings) encryptsForSeal(at('encryption.key'), ring, clients[ring], `ours-${ring}`);
});

// --- The other way round: our keys and thin probes; SEAL encrypts, projects, and matches.
json(heft, 'keygen', ...of, '--out', at('heft-keys'));
const parties = {};
for (const ring of rings) {
  parties[ring] = new Party(contextOf(readFileSync(at(`parms.${ring}`))).context);
  must(exchange, 'export', 'secret-key', ...of, '--secret-key', at('heft-keys/secret.key'), '--ring', ring, '--out',
    at(`heft-secret.${ring}`));
  parties[ring].makeKeys(readFileSync(at(`heft-secret.${ring}`)));
}
must(exchange, 'export', 'evaluation-keys', ...of, '--secret-key', at('heft-keys/secret.key'), '--out',
  at('heft-seal'));

suite.test('SEAL decrypts what HEFT\'s client encrypts in both rings, with our exported secret keys', () => {
  for (const ring of rings) encryptsForSeal(at('heft-keys/encryption.key'), ring, parties[ring], `theirs-${ring}`);
});

suite.test('SEAL encrypts a thin probe under our exported public key, and our programs identify it', () => {
  const key = (ring) => ['export', 'encryption-key', ...of, '--in', at('heft-keys/encryption.key'), '--ring', ring,
    '--out', at(`heft-public.${ring}`)];
  const inputs = {};
  for (const ring of rings) {
    must(exchange, ...key(ring));
    const party = new Party(contextOf(readFileSync(at(`parms.${ring}`))).context);
    party.useKey(readFileSync(at(`heft-public.${ring}`)));
    inputs[ring] = names.flatMap((name, index) => {
      const { modalities, gamma, degree, scale } = plans[ring];
      const row = ring === 'matching' ? probe : enrolled[1];
      scoped((hold) => {
        const slots = compactSlots(unit(data[index][row]), modalities[index].run, gamma, degree / 2);
        save(at('sample.seal'), hold(party.encryptor.encryptSerializable(hold(party.encode(slots, scale)))));
      });
      must(exchange, 'import', 'samples', ...of, '--modality', name, '--key-id-of', at('heft-keys/evaluation.keys'),
        '--in', at('sample.seal'), '--label', 'bob', '--out', at(`${name}-public-${ring}.ct`));
      return ['--in', at(`${name}-public-${ring}.ct`)];
    });
  }
  const keys = [...of, '--keys', at('heft-keys/evaluation.keys'), '--gallery', at('second')];
  must(server, 'enrol', ...keys, '--enrolment-keys', at('heft-keys/enrolment.keys'), ...inputs.enrolment);
  activatePending(at, signed('heft-keys', 'second'), at('heft-keys/secret.key'), at('heft-keys'));
  must(server, 'identify', ...keys, ...inputs.matching, '--out', at('second.ct'));
  allowScores(at('m.heft'), at('heft-keys/secret.key'));
  const { candidates } = json(heft, 'decrypt', ...of, '--secret-key', at('heft-keys/secret.key'), '--in', at('second.ct'), '--scores');
  assertClose([candidates[0].score], [cosines[1]], 2e-3);
});

// Projection, norms and match of two thin probes in SEAL: the ciphertexts of <y, z>, |y|^2, |z|^2.
function matchInSeal() {
  const { degree, gamma, modalities, scale, primes } = plans.matching;
  const slots = degree / 2;
  const party = parties.matching;
  const { evaluator } = party;
  const relin = party.load('RelinKeys', at('heft-seal/relin_keys.seal'));
  const galois = party.load('GaloisKeys', at('heft-seal/galois_keys.seal'));
  const rotate = (h, c, step) => (step === 0 ? c : h(evaluator.rotateVector(c, step, galois)));
  const fold = (h, c, from, to) => {
    for (let step = from; step < to; step *= 2) c = h(evaluator.add(c, rotate(h, c, step)));
    return c;
  };
  // Before the rescale, the error of a key switch is small.
  const product = (h, x, y) =>
    h(evaluator.rescaleToNext(fold(h, h(evaluator.relinearize(h(evaluator.multiply(x, y)), relin)), 1, gamma)));
  const factorScale = (2 ** 25 * primes[2]) / scale;
  const projected = (h, row) => {
    let sum;
    let column = 0;
    names.forEach((name, index) => {
      const file = at(`thin-${name}-${row}`);
      must(heft, 'encrypt', ...of, '--key', at('heft-keys/encryption.key'), '--modality', name, '--in',
        at(`data/${name}.npy`), '--row', row, '--for', 'identification', '--out', `${file}.ct`);
      must(exchange, 'export', 'samples', ...of, '--in', `${file}.ct`, '--out', file);
      const sample = h(party.load('CipherText', `${file}/0.seal`));
      const { run: repeat, dimension } = modalities[index];
      for (let i = 0; i < repeat; ++i) {
        const factor = Array.from({ length: slots }, (_, t) => {
          const from = (t + i) % slots;
          const u = repeat * Math.floor(from / gamma) + (from % repeat);
          return u < dimension ? model.projection[(t % gamma) * model.total + column + u] : 0;
        });
        const part = h(evaluator.multiplyPlain(rotate(h, sample, i), h(party.encode(factor, factorScale))));
        sum = sum ? h(evaluator.add(sum, part)) : part;
      }
      column += dimension;
    });
    return h(evaluator.rescaleToNext(fold(h, sum, gamma, slots)));
  };
  scoped((h) => {
    const y = projected(h, enrolled[1]);
    const z = projected(h, probe);
    save(at('match.score'), product(h, y, z), modes.zstd);
    save(at('match.y'), product(h, y, y));
    save(at('match.z'), product(h, z, z), modes.zlib);
  });
}

suite.test('SEAL projects and matches our thin probes; SEAL and our engine decrypt the cosine', () => {
  matchInSeal();
  const expected = dot(unit(project(model, vectorsOf(enrolled[1]))), exactProbe);
  const cosine = ({ score, y, z }) => score / Math.sqrt(y * z);
  const mean = (slots) => slots.reduce((sum, x) => sum + x, 0) / slots.length;
  const read = (name) => parties.matching.load('CipherText', at(`match.${name}`));
  const inSeal = Object.fromEntries(['score', 'y', 'z'].map((n) => [n, mean(parties.matching.decrypt(read(n)))]));
  assertClose([cosine(inSeal)], [expected], 2e-4);
  // Copies parameters and secret key to the names that the engine expects.
  save(at('parms'), { saveArray: () => readFileSync(at('parms.matching')) });
  save(at('secret_key'), { saveArray: () => readFileSync(at('heft-secret.matching')) });
  const opened = JSON.parse(must(engine, 'decrypt', folder, 'match.score', 'match.y', 'match.z'));
  const ours = Object.fromEntries(['score', 'y', 'z'].map((n) => [n, mean(opened[`match.${n}`])]));
  assertClose([cosine(ours)], [expected], 2e-4);
});

suite.finish(20);
