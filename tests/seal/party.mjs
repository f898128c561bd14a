// SPDX-License-Identifier: Apache-2.0
// A party that uses Microsoft SEAL (node-seal, WebAssembly): parameters, keys, files of objects.
import { readFileSync, writeFileSync } from 'node:fs';
import SEAL from 'node-seal';

export const seal = await SEAL();

export const modes = {
  none: seal.ComprModeType.none,
  zlib: seal.ComprModeType.zlib,
  zstd: seal.ComprModeType.zstd,
};

// Frees WebAssembly objects when `body` ends, since they are not garbage-collected.
export function scoped(body) {
  const held = [];
  const hold = (object) => {
    held.push(object);
    return object;
  };
  try {
    return body(hold);
  } finally {
    for (const object of held.reverse()) object.delete();
  }
}

export const save = (path, object, mode = modes.none) =>
  writeFileSync(path, object.saveArray(mode));

// A context from the bytes of encryption parameters that another program wrote. `insecure` is for
// tests with tiny degrees.
export function contextOf(bytes, insecure = false) {
  const parameters = seal.EncryptionParameters(seal.SchemeType.ckks);
  parameters.loadArray(bytes);
  const level = insecure ? seal.SecurityLevel.none : seal.SecurityLevel.tc128;
  const context = seal.Context(parameters, true, level);
  if (!context.parametersSet()) throw new Error(`SEAL refuses the parameters: ${context.toHuman()}`);
  return { parameters, context };
}

export function parametersOf(degree, bits) {
  const parameters = seal.EncryptionParameters(seal.SchemeType.ckks);
  parameters.setPolyModulusDegree(degree);
  parameters.setCoeffModulus(seal.CoeffModulus.Create(degree, Int32Array.from(bits)));
  return parameters;
}

// Parameters with the given primes, the special one last.
export function parametersWith(degree, primes) {
  const parameters = seal.EncryptionParameters(seal.SchemeType.ckks);
  parameters.setPolyModulusDegree(degree);
  const moduli = seal.Vector();
  moduli.from(primes.map((prime) => seal.Modulus(BigInt(prime)).instance), 'Modulus');
  parameters.setCoeffModulus(moduli);
  return parameters;
}

// Party: has a secret key, or public keys made from one.
export class Party {
  constructor(context) {
    this.context = context;
    this.encoder = seal.CKKSEncoder(context);
    this.evaluator = seal.Evaluator(context);
  }
  // Fresh keys, or those of a secret key that another program made.
  makeKeys(secretKeyBytes) {
    if (secretKeyBytes === undefined) {
      this.generator = seal.KeyGenerator(this.context);
    } else {
      const secret = seal.SecretKey();
      secret.loadArray(this.context, secretKeyBytes);
      this.generator = seal.KeyGenerator(this.context, secret);
    }
    this.secretKey = this.generator.secretKey();
    this.publicKey = this.generator.createPublicKey();
    this.encryptor = seal.Encryptor(this.context, this.publicKey, this.secretKey);
    this.decryptor = seal.Decryptor(this.context, this.secretKey);
  }
  // Uses a public key that another program made; the party can encrypt, but not decrypt.
  useKey(publicKeyBytes) {
    const key = seal.PublicKey();
    key.loadArray(this.context, publicKeyBytes);
    this.encryptor = seal.Encryptor(this.context, key);
  }
  encode(slots, scale) {
    return this.encoder.encode(Float64Array.from(slots), scale);
  }
  load(kind, path) {
    const object = seal[kind]();
    object.loadArray(this.context, readFileSync(path));
    return object;
  }
  // The real parts of all slots.
  decrypt(ciphertext) {
    return scoped((hold) => this.encoder.decode(hold(this.decryptor.decrypt(ciphertext))));
  }
}
