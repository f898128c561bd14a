// SPDX-License-Identifier: Apache-2.0
// Pseudorandom numbers from a seed, so that a test sees the same data each time (mulberry32).
export function generator(seed) {
  let state = seed >>> 0;
  const uniform = (from = 0, to = 1) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return from + (to - from) * (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32);
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}
