// SPDX-License-Identifier: Apache-2.0
// HEFT's client in a browser or Node: it encrypts feature vectors under the key owner's encryption key, and cannot decrypt.
// Everything is computed in a worker, by the same C++ as `heft encrypt`. The app extracts features
// from pictures or speech.
//
//   const service = new Service(location.origin);
//   const client = await Heft.client({model, encryptionKey: await service.encryptionKey(), trust});
//   const challenge = crypto.randomUUID();
//   const decision = await ask(client, service, 'visitors', {face, voice}, {challenge});
//   const believed = await checkDecision(decision, {keys, challenge, kind: 'identification', galleryName: 'visitors'});
//   client.close();

/** Errors of the library and of the service, by the service's codes; a proxy in between may have others. */
export type ErrorKind =
  | 'INVALID_ARGUMENT' | 'OUT_OF_RANGE' | 'DATA_LOSS' | 'UNAUTHENTICATED' | 'STALE' | 'REPLAYED' | 'PERMISSION_DENIED'
  | 'NOT_FOUND' | 'ALREADY_EXISTS' | 'FAILED_PRECONDITION' | 'ABORTED' | 'RESOURCE_EXHAUSTED' | 'INTERNAL' | 'UNKNOWN'
  | 'UNAVAILABLE' | 'CANCELLED' | 'DEADLINE_EXCEEDED' | 'UNIMPLEMENTED' | 'NOT_ACCEPTABLE' | (string & {});

/** Every error of this package; the message says what is wrong and what to do. Errors of the app's own `token` pass unchanged. */
export class HeftError extends Error {
  readonly name: 'HeftError';
  readonly kind: ErrorKind;
  /** HTTP status of a service's answer. */
  readonly status?: number;
  /** Seconds after which to ask again, if the service says so. */
  readonly retryAfter?: number;
  constructor(kind: ErrorKind, message: string, more?: {status?: number; retryAfter?: number});
}

/** The facts of a model. */
export interface ModelInfo {
  /** 32 hexadecimal digits, as shown by the service and `heft inspect`. */
  readonly id: string;
  readonly profile: string;
  readonly gamma: number;
  readonly modalities: ReadonlyArray<{readonly name: string; readonly dimension: number}>;
  /** The kernels in use: "wasm". */
  readonly instructions: string;
}

/** The use of a file. A model with one ring takes one file for both. Default: enrolment, which includes verification. */
export type SampleUse = 'enrolment' | 'identification';

/** compact: one sample per ciphertext. bulk: only for the enrolment of some hundred samples. partial: projected here, fused by the server. */
export type SampleEncoding = 'compact' | 'bulk' | 'partial';

export interface ClientOptions {
  /** The bytes of model.heft. */
  model: Uint8Array | ArrayBuffer;
  /** The bytes of encryption.key. */
  encryptionKey: Uint8Array | ArrayBuffer;
  /**
   * The text of trust.heft, from a source that the app trusts. A key without the signature of its
   * key owner is refused, and so is a model without one of its trainers, if it lists any. Without
   * it, the server that sends the key could send its own, and read the encrypted data.
   */
  trust?: string;
}

export interface EncryptOptions {
  /** The identity of the only row, 1 to 255 bytes, converted to normal form C; no invisible characters. */
  label?: string;
  /** One identity per row. */
  labels?: readonly string[];
  use?: SampleUse;
  /** The rows of one label (or all rows without labels) become their mean. At most 8 rows each. */
  average?: boolean;
}

export interface SignOptions {
  /** The file of a signing key without a passphrase, from newSigningKey or `heft trust new-key`. */
  key: Uint8Array | ArrayBuffer;
  /** The server's public key (server.pub): other servers refuse the file. */
  audience?: string;
  /** Validity of the signature in seconds, 300 by default; 0: without end. */
  life?: number;
}

/** Rows of a modality, one after the other, each with the modality's dimension. They are copied; the worker wipes its copy. */
export type Vectors = Float32Array | Float64Array | readonly number[];

export class Client {
  private constructor();
  readonly model: ModelInfo;
  /** The bytes of a file of samples, as `heft encrypt` makes it. Vectors are scaled to unit length. */
  encrypt(modality: string, vectors: Vectors, options?: EncryptOptions & {encoding?: SampleEncoding}): Promise<Uint8Array>;
  /** Fuses row i of all modalities here, and encrypts the result. Only for models with two rings (thin, flooded). */
  encryptFused(vectors: Readonly<Record<string, Vectors>>, options?: EncryptOptions): Promise<Uint8Array>;
  /** A new key that signs requests (Ed25519): its file, which is not encrypted and must be kept secret, and its public key. */
  newSigningKey(): Promise<{key: Uint8Array; publicKey: string}>;
  /** The public key of such a file, 64 hexadecimal digits, for `heft trust add --role client --key`. */
  signer(key: Uint8Array | ArrayBuffer): Promise<string>;
  /** Signs a file. A service whose trust file lists clients accepts only signed files, each once. */
  sign(file: Uint8Array | ArrayBuffer, options: SignOptions): Promise<Uint8Array>;
  /** Ends the worker and frees its memory. Running calls fail with FAILED_PRECONDITION. */
  close(): void;
}

export const Heft: {
  /**
   * UNAVAILABLE if crypto.getRandomValues gives no randomness; DATA_LOSS for damaged files; FAILED_PRECONDITION for a key of
   * another model, or one without a signature that `trust` accepts.
   */
  client(options: ClientOptions): Promise<Client>;
};

/** The decider's decision, without a score. `jws` is the signed form of the rest: trust only what checkDecision returns. */
export interface Decision {
  readonly iss: string;
  /** The relying party. */
  readonly aud: string;
  /** The client that asked the matcher, and the nonce of the request. */
  readonly azp: string;
  readonly nonce: string;
  /** The challenge of the relying party. */
  readonly challenge?: string;
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
  readonly kind: 'identification' | 'verification';
  /** The gallery's id, 32 hexadecimal digits, and the decider's name for it. */
  readonly gallery_id: string;
  readonly gallery_name?: string;
  readonly probe: string;
  readonly modalities: readonly string[];
  readonly accepted: boolean;
  /** The accepted identity; empty if there is none. */
  readonly identity: string;
  /** For a verification: the claimed identity, accepted or not; otherwise empty. */
  readonly claimed: string;
  readonly where: readonly string[];
  readonly likelihood: '' | 'weak' | 'moderate' | 'strong';
  readonly rule: {readonly fpir?: number; readonly fmr?: number};
  readonly generation: number;
  readonly request: string;
  readonly key: string;
  readonly jws: string;
}

/** The state of an enrolment. */
export interface Enrolment {
  readonly personId: string;
  readonly encounterId: string;
  readonly others: {
    readonly status: 'pending' | 'active' | 'rejected';
    readonly galleries: ReadonlyArray<{
      readonly gallery: string; readonly brought: number; readonly pending: number; readonly templates: number; readonly blocks: number;
      readonly repeated: boolean; readonly missing: readonly string[];
    }>;
  };
}

export interface AskOptions {
  signal?: AbortSignal;
}

export interface DecisionOptions extends AskOptions {
  /** The relying party; default: the client that asks. */
  audience?: string;
  /** A value from the relying party. The decision repeats it, so that another decision cannot replace this one. */
  challenge?: string;
}

export interface ServiceOptions {
  /** A token (JWT) of the client, or a function that returns one. */
  token?: string | (() => string | Promise<string>);
  fetch?: typeof fetch;
}

/**
 * heft-matcher, or an app's server that forwards its requests. Adds nonce and time. `base`: https,
 * or http to this machine; anything else is INVALID_ARGUMENT.
 */
export class Service {
  constructor(base: string | URL, options?: ServiceOptions);
  model(): Promise<Uint8Array>;
  encryptionKey(): Promise<Uint8Array>;
  /** One file per modality. `wait`: seconds to wait for the admission. */
  enrol(person: string, files: readonly Uint8Array[], options: AskOptions & {
    galleries: readonly string[];
    wait?: number;
    metadata?: Readonly<Record<string, string | readonly string[]>>;
    expires?: number;
    idempotencyKey?: string;
  }): Promise<Enrolment>;
  identify(gallery: string, files: readonly Uint8Array[], options?: DecisionOptions & {filter?: Readonly<Record<string, unknown>>}): Promise<Decision>;
  verify(gallery: string, person: string, files: readonly Uint8Array[], options?: DecisionOptions): Promise<Decision>;
}

/** Encrypts one vector of each modality and searches for the person; with `person`, verifies this identity. */
export function ask(client: Client, service: Service, gallery: string, vectors: Readonly<Record<string, Vectors>>,
  options?: DecisionOptions & {person?: string; sign?: SignOptions}): Promise<Decision>;

export interface JsonWebKeySet {
  readonly keys: ReadonlyArray<JsonWebKey & {readonly kid?: string}>;
}

/**
 * The claims that the decider signed. `keys`: its JWKS (/v1/keys), from a source that the app
 * trusts. UNAUTHENTICATED for another decider's decision, a changed or expired one, or one that
 * does not meet a demand; INVALID_ARGUMENT for a demand that is undefined, empty or unknown. If it
 * matters, the relying party checks the decision again on its own server, because the provider of a
 * page can change the page's checks. That server demands audience, asker, challenge, kind and
 * galleryId (or galleryName), and looks at `rule`. Without asker, any client of the matcher can
 * obtain a decision for it.
 */
export function checkDecision(decision: Decision | string, options: {
  keys: JsonWebKeySet;
  /** Demands, checked if given: the decider, the relying party, the client that asked, and the challenge. */
  issuer?: string;
  audience?: string;
  asker?: string;
  challenge?: string;
  /** The kind of the decision and, for a verification, the claimed identity. */
  kind?: Decision['kind'];
  claimed?: string;
  /** The gallery's id, and the decider's name for it. */
  galleryId?: string;
  galleryName?: string;
  /** Unix seconds. */
  now?: number;
  leeway?: number;
}): Promise<Omit<Decision, 'jws'>>;
