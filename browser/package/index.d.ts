// SPDX-License-Identifier: Apache-2.0
// HEFT's client in a browser or Node: it encrypts feature vectors under the key owner's encryption key, and cannot decrypt.
// Everything is computed in a worker, by the same C++ as `heft encrypt`. What extracts features from pictures or speech is up to
// the app.
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

/** What is wrong, and what to do. Every error of this package is one; what the app's own `token` throws is the app's. */
export class HeftError extends Error {
  readonly name: 'HeftError';
  readonly kind: ErrorKind;
  /** HTTP status, of an answer of a service. */
  readonly status?: number;
  /** Seconds after which asking again helps, if the service says so. */
  readonly retryAfter?: number;
  constructor(kind: ErrorKind, message: string, more?: {status?: number; retryAfter?: number});
}

/** What a model is for. */
export interface ModelInfo {
  /** 32 hexadecimal digits, as the service and `heft inspect` say them. */
  readonly id: string;
  readonly profile: string;
  readonly gamma: number;
  readonly modalities: ReadonlyArray<{readonly name: string; readonly dimension: number}>;
  /** The kernels in use: "wasm". */
  readonly instructions: string;
}

/** What a file is for. A model of one ring takes one file for both. Default: enrolment, and verification. */
export type SampleUse = 'enrolment' | 'identification';

/** compact: one sample a ciphertext. bulk: for enrolment alone, of some hundred samples. partial: projected here, fused by the server. */
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
  /** The identity of the one row, 1 to 255 bytes, taken in normal form C; no invisible characters. */
  label?: string;
  /** One of each row. */
  labels?: readonly string[];
  use?: SampleUse;
  /** The rows of one label, or all, become their mean. At most 8 of each. */
  average?: boolean;
}

export interface SignOptions {
  /** The file of a signing key without a passphrase: of newSigningKey, or `heft trust new-key`. */
  key: Uint8Array | ArrayBuffer;
  /** The server's public key (server.pub): no other takes the file. */
  audience?: string;
  /** Seconds for which the signature is good, 300 by default; 0: for ever. */
  life?: number;
}

/** Rows of a modality, one after the other, each of its dimension. Copied; the worker wipes its copy. */
export type Vectors = Float32Array | Float64Array | readonly number[];

export class Client {
  private constructor();
  readonly model: ModelInfo;
  /** The bytes of a file of samples, as `heft encrypt` makes it. Vectors are scaled to unit length. */
  encrypt(modality: string, vectors: Vectors, options?: EncryptOptions & {encoding?: SampleEncoding}): Promise<Uint8Array>;
  /** Fuses row i of all modalities here, and encrypts what comes out. Models of two rings alone (thin, flooded). */
  encryptFused(vectors: Readonly<Record<string, Vectors>>, options?: EncryptOptions): Promise<Uint8Array>;
  /** A key that signs requests (Ed25519): its file, in the clear, to be kept as a secret, and its public half. */
  newSigningKey(): Promise<{key: Uint8Array; publicKey: string}>;
  /** The public half of such a file, 64 hexadecimal digits: `heft trust add --role client --key` takes it. */
  signer(key: Uint8Array | ArrayBuffer): Promise<string>;
  /** The file, signed: where a service's trust file lists clients, it takes signed files alone, each once. */
  sign(file: Uint8Array | ArrayBuffer, options: SignOptions): Promise<Uint8Array>;
  /** Ends the worker and gives its memory back. What is under way fails with FAILED_PRECONDITION. */
  close(): void;
}

export const Heft: {
  /**
   * UNAVAILABLE where crypto.getRandomValues gives no randomness; DATA_LOSS for damaged files; FAILED_PRECONDITION for a key of
   * another model, or one that `trust` does not believe.
   */
  client(options: ClientOptions): Promise<Client>;
};

/** What the decider says, and no score. All but `jws` is what the JWS signs: believe what checkDecision returns. */
export interface Decision {
  readonly iss: string;
  /** Who is to rely on it. */
  readonly aud: string;
  /** Who asked the matcher, and the nonce of the request. */
  readonly azp: string;
  readonly nonce: string;
  /** As the relying party gave it. */
  readonly challenge?: string;
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
  readonly decision: 'accept' | 'reject';
  /** Of an acceptance. */
  readonly identity?: string;
  readonly likelihood?: 'weak' | 'moderate' | 'strong';
  readonly kind: 'identification' | 'verification';
  /** Of a verification: who it was to be, accepted or not. */
  readonly claimed?: string;
  readonly rule: {readonly fpir?: number; readonly fmr?: number};
  readonly probe?: string;
  readonly where?: readonly string[];
  /** Its id, 32 hexadecimal digits, and the decider's name for it. */
  readonly gallery: string;
  readonly gallery_name?: string;
  readonly generation: number;
  readonly request: string;
  readonly key: string;
  readonly jws: string;
}

/** How an enrolment stands. */
export interface Enrolment {
  readonly personId: string;
  readonly encounterId: string;
  readonly others: {
    readonly status: 'waiting' | 'admitted' | 'rejected';
    readonly galleries: ReadonlyArray<{
      readonly gallery: string; readonly brought: number; readonly waiting: number; readonly templates: number; readonly repeated: boolean;
    }>;
  };
}

export interface AskOptions {
  signal?: AbortSignal;
}

export interface DecisionOptions extends AskOptions {
  /** Who is to rely on the decision; otherwise who asks. */
  audience?: string;
  /** What that party has given: the decision holds it, so that no other passes for it. */
  challenge?: string;
}

export interface ServiceOptions {
  /** A token (JWT) of who asks, or what brings one. */
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
  /** One file a modality. `wait`: seconds for the admission. */
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

/** Encrypts one vector of each modality and asks who it is; with `person`, whether it is he. */
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
 * gallery (or galleryName), and looks at `rule`. Without asker, any client of the matcher can
 * obtain a decision for it.
 */
export function checkDecision(decision: Decision | string, options: {
  keys: JsonWebKeySet;
  /** What it must say, where they are given: who signed it, for whom, who asked, to which challenge. */
  issuer?: string;
  audience?: string;
  asker?: string;
  challenge?: string;
  /** Which question it answers, and of a verification about whom. */
  kind?: Decision['kind'];
  claimed?: string;
  /** The gallery's id, and the decider's name for it. */
  gallery?: string;
  galleryName?: string;
  /** Unix seconds. */
  now?: number;
  leeway?: number;
}): Promise<Omit<Decision, 'jws'>>;
