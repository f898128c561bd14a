// SPDX-License-Identifier: Apache-2.0
// Code of an app, checked against the package's types by `tsc --strict`. It is never run.
import {Client, Heft, HeftError, Service, ask, checkDecision} from 'heft-client';
import type {Decision, ModelInfo} from 'heft-client';

export async function visit(face: Float32Array, voice: number[], trust: string): Promise<string | undefined> {
  const service = new Service(new URL('https://app.example'), {token: async () => 'token'});
  const client: Client = await Heft.client({model: await service.model(), encryptionKey: new ArrayBuffer(8), trust});
  const model: ModelInfo = client.model;
  try {
    const files: Uint8Array[] = [
      await client.encrypt('face', face, {label: 'ann', use: 'enrolment'}),
      await client.encrypt(model.modalities[0]!.name, voice, {encoding: 'partial', average: true}),
      await client.encryptFused({face, voice}, {use: 'identification'}),
    ];
    const {key, publicKey} = await client.newSigningKey();
    files.push(await client.sign(files[0]!, {key, audience: publicKey, life: 60}));
    await service.enrol('ann', files, {galleries: ['visitors'], wait: 5, metadata: {site: ['berlin']}});
    const decision: Decision = await ask(client, service, 'visitors', {face, voice}, {person: 'ann', audience: 'door 7', challenge: 'c'});
    const believed = await checkDecision(decision, {keys: {keys: [{kty: 'OKP', crv: 'Ed25519', x: '', kid: 'a'}]}, issuer: 'demo', audience: 'door 7', challenge: 'c',
      asker: 'door', kind: 'verification', claimed: 'ann', galleryId: '0'.repeat(32), galleryName: 'visitors'});
    // @ts-expect-error: the signature is not among the signed fields
    void believed.jws;
    return believed.identity;
  } catch (error) {
    if (error instanceof HeftError && error.kind === 'RESOURCE_EXHAUSTED') return `later: ${error.retryAfter ?? 0}`;
    throw error;
  } finally {
    client.close();
  }
}

export function wrong(client: Client): void {
  // @ts-expect-error: no such use
  void client.encrypt('face', new Float32Array(4), {use: 'anything'});
  // @ts-expect-error: no labels that are numbers
  void client.encrypt('face', new Float32Array(4), {labels: [1]});
  // @ts-expect-error: the description of a model cannot be changed
  client.model.gamma = 3;
  // @ts-expect-error: only Heft.client makes clients
  void new Client();
}
