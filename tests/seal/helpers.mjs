// SPDX-License-Identifier: Apache-2.0
// Functions that the suites share: folders, programs, comparison, and a count of the cases that
// ran.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const programs = {
  engine: process.env.SEAL_ENGINE,
  heft: process.env.HEFT,
  server: process.env.HEFT_SERVER,
  exchange: process.env.HEFT_SEAL,
};

// A folder that is removed when the process ends.
export function workplace() {
  const folder = mkdtempSync(join(tmpdir(), 'heft-seal-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function run(program, ...args) {
  const done = spawnSync(program, args.map(String), { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (done.error) throw done.error;
  return done;
}

// Runs a program that must succeed; returns its output.
export function must(program, ...args) {
  const done = run(program, ...args);
  assert.equal(done.status, 0, `${program} ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
}

// The worst slot may be off by `worst`, the root mean square of all by `rms`.
export function assertClose(actual, expected, worst, rms = worst) {
  assert.ok(actual.length >= expected.length, `${actual.length} slots of ${expected.length}`);
  const errors = expected.map((value, i) => Math.abs(actual[i] - value));
  const largest = errors.reduce((x, y) => (x >= y ? x : y), 0); // NaN wins
  const mean = Math.sqrt(errors.reduce((x, y) => x + y * y, 0) / errors.length);
  assert.ok(largest <= worst, `worst error ${largest}, at most ${worst} allowed`);
  assert.ok(mean <= rms, `root mean square of the errors ${mean}, at most ${rms} allowed`);
}

// Suite: runs cases in order and reports each. The process fails if a case fails, or if fewer than
// `expected` ran.
export class Suite {
  #passed = 0;
  #failed = 0;
  test(name, body) {
    try {
      body();
      ++this.#passed;
      console.log(`ok   ${name}`);
    } catch (error) {
      ++this.#failed;
      console.log(`FAIL ${name}: ${error.stack ?? error}`);
    }
  }
  finish(expected) {
    console.log(`${this.#passed} cases passed, ${this.#failed} failed, ${expected} expected`);
    process.exitCode = this.#failed === 0 && this.#passed === expected ? 0 : 1;
  }
}

// allowScores: a budget for tests that compare scores; by default none may be opened.
export function allowScores(model, secretKey) {
  must(programs.heft, 'budget', '--model', model, '--secret-key', secretKey, '--set', 'scores=1000');
}

// activatePending: the key owner approves all pending templates of a gallery. `of`: the server's options
// for it. `keys`: the folder of heft keygen, whose keys are signed.
export function activatePending(at, of, secretKey, keys) {
  const { heft, server } = programs;
  const trust = ['--trust', `${keys}/trust.heft`];
  must(server, 'pending', ...of, ...trust, '--out', at('pending.ct'));
  const gallery = of[of.indexOf('--gallery') + 1];
  must(heft, 'trust', 'add', '--trust', `${keys}/trust.heft`, '--role', 'server', '--key', `${gallery}/server.pub`);
  must(heft, 'answer', ...of.slice(of.indexOf('--model'), of.indexOf('--model') + 2), '--secret-key', secretKey,
    ...trust, '--in', at('pending.ct'), '--out', at('admission.heft'));
  must(server, 'apply', ...of, ...trust, '--in', at('admission.heft'));
}
