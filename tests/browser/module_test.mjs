// SPDX-License-Identifier: Apache-2.0
// Compares the module and the package in Node with the native library (native_side.cc): the same
// bytes from the same randomness, files that decrypt, golden files, errors, and a missing source of
// randomness.
//
//   node module_test.mjs --package FOLDER --native native_side --heft heft --golden tests/golden
//     --world FOLDER
//
// The world (module_test.sh): PROFILE/{model.heft, encryption.key, secret.key, trust.heft},
// face.npy, voice.npy.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {createHash, generateKeyPairSync, sign as signBytes} from 'node:crypto';
import {pathToFileURL} from 'node:url';
import {parseArgs} from 'node:util';
import {rowsOf} from '../../browser/demo/npy.js';

const {values: options} = parseArgs({options: Object.fromEntries(
  ['package', 'native', 'heft', 'golden', 'world'].map((name) => [name, {type: 'string'}]))});
const load = (name) => import(pathToFileURL(join(options.package, name)));
const {Heft, HeftError, Service, ask, checkDecision} = await load('node.js');
const {open} = await load('core.js');
const wasm = await WebAssembly.compile(readFileSync(join(options.package, 'heft.wasm')));

const world = (...names) => join(options.world, ...names);
const golden = (...names) => join(options.golden, ...names);
const native = (...values) => execFileSync(options.native, values.map(String), {encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']});
const heft = (...values) => execFileSync(options.heft, values.map(String), {encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']});
const kModalities = ['face', 'voice'];
const rows = Object.fromEntries(kModalities.map((name) => [name, rowsOf(readFileSync(world(`${name}.npy`)), name)]));
const vector = (name, row) => rows[name].values.slice(row * rows[name].dimension, (row + 1) * rows[name].dimension);
const filesOf = (profile) => ({model: readFileSync(world(profile, 'model.heft')), encryptionKey: readFileSync(world(profile, 'encryption.key'))});

// rejects: fails unless the promise rejects with a HeftError of that kind whose text matches
// `message`.
const rejects = (promise, kind, message = /./) => assert.rejects(promise, (error) => {
  assert.ok(error instanceof HeftError, String(error.stack));
  assert.equal(error.kind, kind, error.message);
  assert.match(error.message, message);
  return true;
});

// streamOf: native_side's stream, after the three draws with which a module begins.
function streamOf() {
  let state = 0x48454654, before = 96;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 255;
  };
  return (bytes) => {
    for (let i = 0; i < bytes.length; ++i) bytes[i] = before > 0 ? before-- : next();
  };
}

// specOf: a plaintext's description in the form that native_side reads.
const specOf = (profile, encoding, use, row, names) => ({profile, encoding, use, row, names,
  given: [world(profile, 'model.heft'), world(profile, 'encryption.key'), encoding, use, row, names.map((name) => `${name}=${world(`${name}.npy`)}`).join(',')]});
const specs = [
  specOf('standard', 'compact', 'enrolment', 3, ['face']),
  specOf('standard', 'compact', 'enrolment', 7, ['voice']),
  specOf('standard', 'compact', 'identification', 2, ['face']),
  specOf('standard', 'partial', 'identification', 4, ['voice']),
  specOf('standard', 'fused', 'enrolment', 6, kModalities),
  specOf('standard', 'fused', 'identification', 8, kModalities),
];
// SHA-256 of that file when this test was written.
const kKnownAnswer = '1b5290afbc6964fc81a55c6e4074294fe8f7dccb3f2e110e4ea5e97a45665af9';
const tests = {
  async 'from the same randomness the same ciphertexts as native ones'() {
    for (const spec of specs) {
      const module = await open(wasm, streamOf());
      const {client} = module.client(filesOf(spec.profile));
      writeFileSync(world('module.ct'), module.encrypt(client, spec.names.map((name) => [name, vector(name, spec.row)]), spec));
      native('known', ...spec.given, world('known.ct'));
      native('same', ...spec.given, world('known.ct'), world('module.ct'));
    }
  },

  async 'of a vector whose encoding nobody has to round, the same bytes'() {
    const module = await open(wasm, streamOf());
    const {client} = module.client({model: readFileSync(golden('model.heft')), encryptionKey: readFileSync(golden('encryption.key'))});
    const file = module.encrypt(client, [['face', Float32Array.of(0.5, -0.5, 0.5, 0.5)]], {labels: []});
    writeFileSync(world('exact.txt'), '0.5 -0.5 0.5 0.5\n');
    native('known', golden('model.heft'), golden('encryption.key'), 'compact', 'enrolment', 0, `face=${world('exact.txt')}`, world('known.ct'));
    assert.deepEqual(Buffer.from(file), readFileSync(world('known.ct')));
    assert.equal(createHash('sha256').update(file).digest('hex'), kKnownAnswer);
  },

  async 'files of the package decrypt natively within the bound of the noise'() {
    for (const spec of specs) {
      const client = await Heft.client(filesOf(spec.profile));
      const vectors = Object.fromEntries(spec.names.map((name) => [name, vector(name, spec.row)]));
      const files = [];
      for (let i = 0; i < 3; ++i) {
        const file = spec.encoding === 'fused' ? await client.encryptFused(vectors, {use: spec.use}) :
          await client.encrypt(spec.names[0], vectors[spec.names[0]], {use: spec.use, encoding: spec.encoding});
        files.push(world(`made-${i}.ct`));
        writeFileSync(files[i], file);
      }
      native('open', ...spec.given, world(spec.profile, 'secret.key'), ...files);
      // The file does not decrypt to another row's vector, so the bound above is meaningful.
      const other = [...spec.given];
      other[4] = spec.row + 1;
      assert.throws(() => native('open', ...other, world(spec.profile, 'secret.key'), files[0]), /does not decrypt to what was encrypted/);
      assert.notDeepEqual(readFileSync(files[0]), readFileSync(files[1]), 'two encryptions are the same');
      client.close();
    }
  },

  async 'golden files of every version are read'() {
    const face = Float32Array.of(0.5, -0.5, 0.5, 0.5), npy = world('golden-face.txt');
    writeFileSync(npy, '0.5 -0.5 0.5 0.5\n');
    for (const [model, key, secret] of [['model.heft', 'encryption.key', 'secret.key'], ['model-2.heft', 'encryption-2.key', 'secret.key']]) {
      const client = await Heft.client({model: readFileSync(golden(model)), encryptionKey: readFileSync(golden(key))});
      assert.deepEqual(client.model.modalities, [{name: 'face', dimension: 4}, {name: 'voice', dimension: 3}]);
      assert.equal(client.model.gamma, 2);
      assert.equal(client.model.profile, 'compact');
      assert.equal(client.model.instructions, 'wasm');
      writeFileSync(world('golden.ct'), await client.encrypt('face', face));
      native('open', golden(model), golden(key), 'compact', 'enrolment', 0, `face=${npy}`, golden(secret), world('golden.ct'));
      client.close();
    }
  },

  async 'no randomness, no client; none later, nothing more is encrypted'() {
    let count = 0;
    const random = (bytes) => globalThis.crypto.getRandomValues(bytes);
    const bad = {
      throws() { throw new Error('no entropy'); },
      'leaves zeros'() {},
      'one value'(bytes) { bytes.fill(0xa5); },
      repeats(bytes) { bytes.set(Uint8Array.from(bytes, (_, i) => i * 7 + 1)); },
    };
    for (const [name, stub] of Object.entries(bad)) await rejects(open(wasm, stub), 'UNAVAILABLE', /getRandomValues/, name);
    for (const [name, stub] of Object.entries(bad)) {
      count = 0;
      const module = await open(wasm, (bytes) => (++count <= 4 ? random(bytes) : stub(bytes)));
      const {client} = module.client(filesOf('standard'));
      const encrypt = async () => module.encrypt(client, [['face', vector('face', 0)]]);
      await encrypt();
      if (name === 'repeats') await encrypt(); // no one can see that the first of them repeats
      await rejects(encrypt(), 'UNAVAILABLE', /getRandomValues/);
      await rejects(encrypt(), 'UNAVAILABLE', /getRandomValues/);
    }
    // A browser without randomness: the property is removed.
    const own = Object.getOwnPropertyDescriptor(globalThis, 'crypto');
    Object.defineProperty(globalThis, 'crypto', {value: undefined, configurable: true});
    try {
      await rejects(open(wasm), 'UNAVAILABLE', /getRandomValues/);
    } finally {
      Object.defineProperty(globalThis, 'crypto', own);
    }
  },

  async 'errors have a kind, and say what is wrong'() {
    const files = filesOf('standard');
    const damaged = Uint8Array.from(files.encryptionKey);
    damaged[damaged.length >> 1] ^= 1;
    await rejects(Heft.client({...files, encryptionKey: damaged}), 'DATA_LOSS', /encryption key/);
    await rejects(Heft.client({...files, model: files.model.subarray(0, 100)}), 'DATA_LOSS', /model/);
    await rejects(Heft.client({...files, model: 'model.heft'}), 'INVALID_ARGUMENT', /Uint8Array/);
    await rejects(Heft.client({...files, encryptionKey: readFileSync(golden('encryption.key'))}), 'FAILED_PRECONDITION', /other parameters/);
    await rejects(Heft.client({...files, model: readFileSync(golden('standard/model.heft')), encryptionKey: readFileSync(golden('encryption.key'))}), 'FAILED_PRECONDITION', /other parameters/);
    const client = await Heft.client(files);
    const face = vector('face', 0);
    await rejects(client.encrypt('iris', face), 'INVALID_ARGUMENT', /iris.*face/);
    await rejects(client.encrypt('face', face.subarray(1)), 'INVALID_ARGUMENT', /values/);
    await rejects(client.encrypt('face', new Float32Array(0)), 'INVALID_ARGUMENT', /values/);
    await rejects(client.encrypt('face', face.fill(0)), 'INVALID_ARGUMENT', /length 0/);
    await rejects(client.encrypt('face', vector('face', 0).fill(NaN, 3, 4)), 'INVALID_ARGUMENT', /finite/);
    await rejects(client.encrypt('face', 'a picture'), 'INVALID_ARGUMENT', /Float32Array/);
    await rejects(client.encrypt('face', vector('face', 0), {label: 'a\u202eb'}), 'INVALID_ARGUMENT', /202E/);
    await rejects(client.encrypt('face', vector('face', 0), {label: 'a', labels: ['a']}), 'INVALID_ARGUMENT', /one of the two/);
    await rejects(client.encrypt('face', vector('face', 0), {use: 'fun'}), 'INVALID_ARGUMENT', /enrolment, identification/);
    await rejects(client.encrypt('face', vector('face', 0), {encoding: 'fused'}), 'INVALID_ARGUMENT');
    // The package refuses at run time the values that its types forbid, for callers without type
    // checks.
    for (const bad of [null, 'ann', 7, {labels: 'ann'}, {labels: [7]}, {label: 7}, {use: () => 0}, {encoding: 2}, {average: 'yes'}]) {
      await rejects(client.encrypt('face', vector('face', 0), bad), 'INVALID_ARGUMENT');
    }
    await rejects(client.encrypt(Symbol('face'), face), 'INVALID_ARGUMENT', /modality/);
    await rejects(client.encrypt('face', [1n]), 'INVALID_ARGUMENT', /Float32Array/);
    for (const bad of [null, 'face', {face: null}]) await rejects(client.encryptFused(bad), 'INVALID_ARGUMENT');
    await rejects(client.encryptFused(), 'INVALID_ARGUMENT');
    await rejects(client.sign(new Uint8Array(3)), 'INVALID_ARGUMENT', /key/);
    await rejects(client.sign(new Uint8Array(3), null), 'INVALID_ARGUMENT', /options/);
    for (const bad of [undefined, null, {}, {...files, trust: 7}]) await rejects(Heft.client(bad), 'INVALID_ARGUMENT');
    await client.encrypt('face', vector('face', 0), {label: 'Zoë 朝'}); // the client works on after errors
    client.close();
    await rejects(client.encrypt('face', vector('face', 0)), 'FAILED_PRECONDITION', /closed/);
  },

  async 'a key or model that the trust file does not believe is refused'() {
    const trusted = {...filesOf('standard'), trust: readFileSync(world('standard', 'trust.heft'), 'utf8')};
    (await Heft.client(trusted)).close();
    await rejects(Heft.client({...trusted, trust: readFileSync(world('other', 'trust.heft'), 'utf8')}), 'FAILED_PRECONDITION', /encryption key/);
    await rejects(Heft.client({...trusted, trust: 'nonsense'}), 'DATA_LOSS', /trust/);
    const bare = trusted.encryptionKey.subarray(trusted.encryptionKey.indexOf('HEFT\r\n', 1), -32); // the signed bytes
    (await Heft.client({...trusted, encryptionKey: bare, trust: undefined})).close();
    await rejects(Heft.client({...trusted, encryptionKey: bare}), 'FAILED_PRECONDITION', /signed/);
  },

  async 'memory does not grow, and what is under way ends when the client is closed'() {
    const module = await open(wasm);
    const {client} = module.client(filesOf('standard'));
    const encrypt = () => module.encrypt(client, [['face', vector('face', 0)]], {labels: ['ann']});
    for (let i = 0; i < 3; ++i) encrypt();
    const before = module.memory;
    for (let i = 0; i < 40; ++i) encrypt();
    for (let i = 0; i < 5; ++i) module.releaseClient(module.client(filesOf('standard')).client);
    assert.equal(module.memory, before);
    const closing = await Heft.client(filesOf('standard'));
    const pending = closing.encrypt('face', vector('face', 0));
    closing.close();
    await rejects(pending, 'FAILED_PRECONDITION', /closed/);
  },

  async 'a copy of what is secret is handed to the worker, and wiped there'() {
    const {answering} = await load('answer.js'), {Client} = await load('client.js');
    const posted = [], replies = [];
    const answer = answering(() => readFileSync(join(options.package, 'heft.wasm')), (message, transfer) => replies.push({message, transfer}));
    let tell;
    const client = await Client.open(() => ({
      post(message, transfer) {
        posted.push({message, transfer});
        answer(message);
      },
      listen(onMessage) {
        tell = setInterval(() => replies.splice(0).forEach(({message, transfer}) => {
          if (message.result?.key) assert.ok(transfer.includes(message.result.key.buffer), 'a new key stays in the worker');
          onMessage(message);
        }), 1);
      },
      end: () => clearInterval(tell),
    }), filesOf('standard'));
    const zeros = (values) => values.every((value) => value === 0);
    const face = vector('face', 0), two = {face, voice: vector('voice', 0)};
    const {key} = await client.newSigningKey();
    const file = await client.encrypt('face', face);
    await client.encryptFused(two);
    await rejects(client.encrypt('iris', face), 'INVALID_ARGUMENT');
    await client.signer(Buffer.from(key));
    await client.sign(file, {key: Buffer.from(key)});
    await rejects(client.sign(file, {key: Uint8Array.from(key, (byte) => byte ^ 1)}), 'DATA_LOSS');
    await new Promise((done) => setTimeout(done, 20));
    const secrets = posted.flatMap(({message: {call, values}}) => ({encrypt: () => values.modalities.map(([, all]) => all),
      signer: () => [values.key], sign: () => [values.options.key]})[call]?.() ?? []);
    assert.equal(secrets.length, 7);
    const transferred = posted.flatMap(({transfer}) => transfer);
    for (const secret of secrets) {
      assert.ok(zeros(secret) && secret.length > 0, 'not wiped');
      assert.ok(transferred.includes(secret.buffer), 'the page keeps a copy');
      assert.equal(secret.buffer.byteLength, secret.byteLength, 'more is handed over than the secret');
    }
    assert.ok(!zeros(key) && !zeros(face), "the app's own");
    client.close();
  },

  async 'vectors are left as they were, and rows keep their labels'() {
    const client = await Heft.client(filesOf('standard'));
    const two = rows.face.values.slice(0, 2 * rows.face.dimension), copy = two.slice();
    const file = Buffer.from(await client.encrypt('face', two, {labels: ['ann', 'bob']}));
    assert.deepEqual(two, copy);
    assert.ok(file.includes('ann') && file.includes('bob'));
    client.close();
  },
};

// A decision as the decider signs it, by a key of this kind.
const kKinds = {EdDSA: ['ed25519', {}, null], ES256: ['ec', {namedCurve: 'P-256'}, 'sha256']};
function deciderOf(algorithm) {
  const [type, how, hash] = kKinds[algorithm];
  const {publicKey, privateKey} = generateKeyPairSync(type, how);
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    keys: {keys: [{...publicKey.export({format: 'jwk'}), kid: 'one', alg: algorithm}]},
    sign(claims, header = {alg: algorithm, kid: 'one', typ: 'heft-decision+jwt'}) {
      const signed = `${part(header)}.${part(claims)}`;
      const signature = signBytes(hash, Buffer.from(signed), {key: privateKey, dsaEncoding: 'ieee-p1363'});
      return {...claims, jws: `${signed}.${signature.toString('base64url')}`};
    },
  };
}
const kNow = 1_800_000_000;
const kHeader = {kid: 'one', typ: 'heft-decision+jwt'};
const claims = {iss: 'demo', aud: 'door', azp: 'turnstile', challenge: 'c1', kind: 'verification', claimed: 'ann', gallery_id: 'ab'.repeat(16), gallery_name: 'visitors', iat: kNow, exp: kNow + 300, accepted: true, identity: 'ann'};

Object.assign(tests, {
  async 'of a decision what was signed is believed, and nothing else'() {
    for (const algorithm of Object.keys(kKinds)) {
      const decider = deciderOf(algorithm), good = decider.sign(claims);
      const all = {keys: decider.keys, now: kNow + 10, issuer: 'demo', audience: 'door', asker: 'turnstile', challenge: 'c1',
        kind: 'verification', claimed: 'ann', galleryId: 'ab'.repeat(16), galleryName: 'visitors'};
      assert.deepEqual(await checkDecision(good, all), claims);
      // Fields outside the signature are ignored.
      assert.equal((await checkDecision({...good, identity: 'bob'}, all)).identity, 'ann');
      assert.deepEqual(await checkDecision(good.jws, all), claims);
      for (const [demand, why] of [['issuer', /decider/], ['audience', /another reader/], ['asker', /another client/], ['challenge', /another challenge/],
        ['kind', /kind/], ['claimed', /person/], ['galleryId', /gallery/], ['galleryName', /gallery/]]) {
        await rejects(checkDecision(good, {...all, [demand]: 'other'}), 'UNAUTHENTICATED', why);
        // An empty demand is an error of the app: it is not treated as missing.
        for (const empty of [undefined, null, '']) await rejects(checkDecision(good, {...all, [demand]: empty}), 'INVALID_ARGUMENT', new RegExp(demand));
      }
      await rejects(checkDecision(good, {...all, audiance: 'door'}), 'INVALID_ARGUMENT', /audiance.*audience/);
      const {azp, ...anonymous} = claims;
      await rejects(checkDecision(decider.sign(anonymous), all), 'UNAUTHENTICATED', /another client asked/);
      for (const typ of ['JWT', undefined, 'heft-decision']) {
        await rejects(checkDecision(decider.sign(claims, {alg: algorithm, kid: 'one', typ}), all), 'UNAUTHENTICATED', /not a decision/);
      }
      await rejects(checkDecision(good, {...all, now: kNow + 331}), 'UNAUTHENTICATED', /expired/);
      await rejects(checkDecision(good, {...all, now: kNow - 31}), 'UNAUTHENTICATED', /future/);
      await rejects(checkDecision(decider.sign({...claims, exp: undefined}), all), 'UNAUTHENTICATED', /expired/);
      await rejects(checkDecision(good, {...all, keys: deciderOf(algorithm).keys}), 'UNAUTHENTICATED', /false/);
      await rejects(checkDecision(good, {...all, keys: {keys: []}}), 'UNAUTHENTICATED', /none of the given keys/);
      const [head, payload, signature] = good.jws.split('.');
      const forged = Buffer.from(JSON.stringify({...claims, identity: 'eve'})).toString('base64url');
      await rejects(checkDecision(`${head}.${forged}.${signature}`, all), 'UNAUTHENTICATED', /false/);
      await rejects(checkDecision(`${head}.${payload}.`, all), 'UNAUTHENTICATED', /false/);
      await rejects(checkDecision(`${head}.${payload}`, all), 'UNAUTHENTICATED', /cannot be read/);
      await rejects(checkDecision(`${good.jws}.more`, all), 'UNAUTHENTICATED', /cannot be read/);
      for (const bad of [null, undefined, 7, {}, {jws: 7}, 'bnVsbA.bnVsbA.']) await rejects(checkDecision(bad, all), 'UNAUTHENTICATED', /cannot be read/);
      for (const bad of [null, undefined, {}, {...all, keys: null}, {...all, keys: {keys: 7}}, {...all, now: 'today'}, {...all, leeway: NaN}]) {
        await rejects(checkDecision(good, bad), 'INVALID_ARGUMENT');
      }
      const [jwk] = decider.keys.keys;
      await rejects(checkDecision(good, {...all, keys: {keys: [null, {...jwk, x: 'short'}]}}), 'INVALID_ARGUMENT', /keys: .*cannot be read/);
      for (const alg of ['none', 'HS256', algorithm === 'EdDSA' ? 'ES256' : 'EdDSA']) {
        await rejects(checkDecision(decider.sign(claims, {alg, ...kHeader}), all), 'UNAUTHENTICATED', /another kind/);
      }
      await rejects(checkDecision(decider.sign(claims, {alg: algorithm, ...kHeader, crit: ['b64']}), all), 'UNAUTHENTICATED', /another kind/);
    }
  },

  async 'in a Node without a global crypto, as 18 is, a service is asked and a decision checked'() {
    for (const algorithm of Object.keys(kKinds)) {
      const decider = deciderOf(algorithm);
      const program = `delete globalThis.crypto;
        if (globalThis.crypto !== undefined) throw new Error('it is still there');
        const {Service, checkDecision} = await import(${JSON.stringify(pathToFileURL(join(options.package, 'node.js')))});
        const service = new Service('https://app.example', {fetch: async (url, init) => new Response(JSON.stringify(init.headers['X-Heft-Nonce']))});
        const nonce = await service.identify('visitors', []);
        const claims = await checkDecision(${JSON.stringify(decider.sign(claims))}, {keys: ${JSON.stringify(decider.keys)}, now: ${kNow}});
        console.log(nonce.length, claims.identity);`;
      assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', program], {encoding: 'utf8'}), '22 ann\n');
    }
  },

  async 'what is signed here the tools believe, and keys go both ways'() {
    const client = await Heft.client(filesOf('standard'));
    const sample = await client.encrypt('face', vector('face', 0));
    const made = await client.newSigningKey();
    assert.match(made.publicKey, /^[0-9a-f]{64}$/);
    assert.equal(await client.signer(made.key), made.publicKey);
    heft('trust', 'new-key', '--out', world('native.key'));
    const key = readFileSync(world('native.key'));
    const audience = readFileSync(world('native.pub'), 'utf8').slice(0, 64);
    assert.equal(await client.signer(key), audience);
    heft('trust', 'add', '--trust', world('clients.heft'), '--role', 'client', '--name', 'browser', '--key', made.publicKey);
    const check = (...more) => JSON.parse(heft('inspect', '--json', ...more, world('signed.ct'))).signed;
    writeFileSync(world('signed.ct'), await client.sign(sample, {key: made.key, audience, life: 60}));
    const said = check();
    assert.equal(said.signer, made.publicKey);
    assert.equal(said.role, 'client');
    assert.equal(said.audience, audience);
    assert.equal(Date.parse(said.expires) - Date.parse(said.issued), 60_000);
    writeFileSync(world('signed.ct'), await client.sign(sample, {key: made.key}));
    check('--trust', world('clients.heft'));
    const signed = readFileSync(world('signed.ct'));
    assert.ok(signed.includes(Buffer.from(sample)), 'the file is in it as it was');
    signed[signed.length >> 1] ^= 1;
    writeFileSync(world('signed.ct'), signed);
    assert.throws(() => check());
    writeFileSync(world('signed.ct'), await client.sign(sample, {key}));
    assert.throws(() => check('--trust', world('clients.heft')), /unknown client/);
    await rejects(client.sign(sample, {key: readFileSync(golden('secret.key'))}), 'DATA_LOSS', /signing key/);
    await rejects(client.sign(sample, {key, audience: 'somebody'}), 'INVALID_ARGUMENT', /64/);
    await rejects(client.sign(sample, {key, life: -1}), 'INVALID_ARGUMENT', /seconds/);
    await rejects(client.sign(new Uint8Array(10), {key}), 'INVALID_ARGUMENT');
    client.close();
  },

  async 'a service is asked as its contract says, and its refusals are errors'() {
    const seen = [];
    const answers = [];
    const service = new Service('https://app.example/', {token: async () => 'secret', fetch: async (url, init) => {
      seen.push({url, ...init});
      const [status, body, headers] = answers.shift() ?? [200, '{}', {}];
      return new Response(body, {status, headers});
    }});
    const client = await Heft.client(filesOf('standard'));
    await ask(client, service, 'visitors', {face: vector('face', 0), voice: vector('voice', 0)}, {audience: 'door 7', challenge: 'ä'});
    await service.verify('visitors', 'a/b', [new Uint8Array(3)]);
    await service.enrol('Zoë', [new Uint8Array(3)], {galleries: ['visitors'], wait: 5, metadata: {site: 'berlin'}});
    client.close();
    const [asked, verified, enrolled] = seen;
    assert.equal(asked.url, 'https://app.example/v1/identify/visitors');
    assert.equal(asked.body.getAll('template').length, 2);
    assert.equal(asked.headers['X-Heft-Audience'], 'door%207');
    assert.equal(asked.headers['X-Heft-Challenge'], '%C3%A4');
    assert.equal(asked.headers.Authorization, 'Bearer secret');
    assert.match(asked.headers['X-Heft-Nonce'], /^[A-Za-z0-9_-]{22}$/);
    assert.notEqual(asked.headers['X-Heft-Nonce'], verified.headers['X-Heft-Nonce']);
    assert.ok(Math.abs(Number(asked.headers['X-Heft-Time']) - Date.now() / 1000) < 60);
    assert.equal(verified.url, 'https://app.example/v1/verify/visitors/a%2Fb');
    assert.equal(enrolled.url, 'https://app.example/v1/persons/Zo%C3%AB/encounters?wait=5');
    assert.match(enrolled.headers['Idempotency-Key'], /./);
    assert.deepEqual(JSON.parse(await enrolled.body.get('request').text()), {galleries: ['visitors'], metadata: {site: 'berlin'}});
    answers.push([429, '{"code": "RESOURCE_EXHAUSTED", "message": "slow down"}', {'Retry-After': '7'}], [502, '<html>', {}]);
    await assert.rejects(service.identify('visitors', []), {kind: 'RESOURCE_EXHAUSTED', message: 'slow down', status: 429, retryAfter: 7});
    await assert.rejects(service.model(), {kind: 'UNKNOWN', status: 502});
    const away = new Service('https://app.example', {fetch: async () => { throw new TypeError('no route'); }});
    await rejects(away.encryptionKey(), 'UNAVAILABLE', /no route/);
    answers.push([503, 'null', {}], [400, '{"code": 7, "message": []}', {}], [200, '<html>', {}]);
    await rejects(service.model(), 'UNKNOWN', /503/);
    await rejects(service.model(), 'UNKNOWN', /400/);
    await rejects(service.identify('visitors', []), 'UNKNOWN', /not JSON/);
    const stopping = new AbortController(); // between the head of an answer and its body
    const stopped = new Service('https://app.example', {fetch: async () => new Response(new ReadableStream({pull(to) {
      stopping.abort();
      to.error(new Error('stopped'));
    }}))});
    await rejects(stopped.identify('visitors', [], {signal: stopping.signal}), 'CANCELLED', /stopped/);
    for (const base of ['http://app.example', 'http://127.0.0.1.example', 'http://localhost.example', 'ws://localhost', 'file:///v1', 'app.example', '',
      undefined, null, 7, Symbol('base'), 'https://ann:secret@app.example', 'https://app.example/?to=', 'https://app.example/#a']) {
      await rejects((async () => new Service(base, {token: 'secret'}))(), 'INVALID_ARGUMENT', /the service/);
    }
    for (const [base, url] of [['http://localhost:8080/', 'http://localhost:8080/v1/model'], ['http://127.0.0.1:1', 'http://127.0.0.1:1/v1/model'],
      ['http://[::1]:1/', 'http://[::1]:1/v1/model'], [new URL('https://app.example/heft/'), 'https://app.example/heft/v1/model']]) {
      await new Service(base, {fetch: async (asked) => {
        assert.equal(asked, url);
        return new Response('');
      }}).model();
    }
    const before = seen.length;
    const loop = {};
    loop.loop = loop;
    for (const bad of [
      () => service.identify('..', []), () => service.identify('', []), () => service.identify('\ud800', []), () => service.identify(undefined, []),
      () => service.identify('visitors', null), () => service.identify('visitors', ['file']), () => service.identify('visitors', [], null),
      () => service.identify('visitors', [], {filter: loop}), () => service.identify('visitors', [], {challenge: '\udc00'}),
      () => service.identify('visitors', [], {audience: 7}), () => service.verify('visitors', '.', []), () => service.enrol('ann', []),
      () => service.enrol('ann', [], {galleries: 'visitors'}), () => service.enrol('ann', [], {galleries: ['visitors'], wait: '5&x=1'}),
      () => service.enrol('ann', [], {galleries: ['visitors'], idempotencyKey: 'a\nb'}), () => ask(null, service, 'visitors', null), () => ask(null, service, 'visitors', {}, null),
    ]) await rejects(bad(), 'INVALID_ARGUMENT', /./, String(bad));
    assert.equal(seen.length, before, 'and nothing of it is sent');
    // The error message of Headers would contain the token.
    await assert.rejects(new Service('https://app.example', {token: 'a secret\n'}).model(), (error) => error.kind === 'INVALID_ARGUMENT' && !error.message.includes('secret'));
  },
});

for (const [name, test] of Object.entries(tests)) {
  await test();
  console.log(`passed: ${name}`);
}
