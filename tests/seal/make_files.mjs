// SPDX-License-Identifier: Apache-2.0
// Writes tests/data/seal: small objects of SEAL. It is run once: keys are fresh, so a second run
// writes other bytes with the same meaning.
//
//   node tests/seal/make_files.mjs FOLDER
import { mkdirSync, writeFileSync } from 'node:fs';
import { contextOf, modes, parametersOf, Party, save, seal } from './party.mjs';

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
const to = (name) => `${folder}/${name}`;

const parameters = parametersOf(64, [30, 28, 20, 30]);
save(to('parms'), parameters);
const { context } = contextOf(parameters.saveArray(modes.none), true);
const party = new Party(context);
party.makeKeys();
const a = Array.from({ length: 32 }, (_, i) => Math.round(1000 * Math.sin(i + 1)) / 1000);

save(to('secret_key'), party.secretKey);
save(to('secret_key_zlib'), party.secretKey, modes.zlib);
save(to('secret_key_zstd'), party.secretKey, modes.zstd);
save(to('public_key'), party.publicKey);
save(to('public_key_seeded'), party.generator.createPublicKeySerializable());
save(to('relin_keys_zstd'), party.generator.createRelinKeys(), modes.zstd);
save(to('relin_keys_seeded'), party.generator.createRelinKeysSerializable());
const steps = Int32Array.from([0, 1]); // conjugation, rotation by one
save(to('galois_keys_zlib'), party.generator.createGaloisKeys(steps), modes.zlib);
save(to('galois_keys_seeded'), party.generator.createGaloisKeysSerializable(steps));
const plaintext = party.encode(a, 2 ** 20);
save(to('plaintext'), plaintext);
for (const [name, mode] of Object.entries(modes)) {
  const file = name === 'none' ? 'ciphertext' : `ciphertext_${name}`;
  save(to(file), party.encryptor.encrypt(plaintext), mode);
}
const seeded = party.encryptor.encryptSymmetricSerializable(plaintext);
save(to('seeded'), seeded);
save(to('seeded_zstd'), seeded, modes.zstd);

const hex = (id) => Buffer.from(new BigUint64Array(id.values).buffer).toString('hex');
const ids = [];
let level = context.firstContextData;
for (let limbs = 3; limbs > 0; --limbs) {
  ids.unshift(hex(level.parmsId));
  if (limbs > 1) level = level.nextContextData; // SEAL refuses the question after the last level
}
ids.push(hex(context.keyParmsId));
const primes = Array.from(parameters.coeffModulus, Number);
writeFileSync(to('expected.json'), JSON.stringify({ version: seal.Version, primes, parms_ids: ids, a }));
