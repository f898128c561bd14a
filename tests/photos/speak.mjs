// SPDX-License-Identifier: Apache-2.0
// Synthetic voices: harmonics of a pitch under four resonances that differ by person, in syllables that
// differ by recording.
import { generator } from './chance.mjs';

// Samples in [-1, 1].
export function voice(person, recording, { rate = 16000, seconds = 2 } = {}) {
  const own = generator(2000 + person);
  const formants = [500, 1500, 2600, 3400].map((centre) => centre * own.uniform(0.7, 1.3));
  const pitch = own.uniform(90, 220);
  const random = generator(31 * person + recording + 7);
  const samples = new Float32Array(Math.round(rate * seconds));
  const syllable = Math.round(rate * 0.2);
  for (let start = 0; start < samples.length; start += syllable) {
    const shifts = formants.map(() => random.uniform(0.95, 1.05));
    const tone = pitch * random.uniform(0.93, 1.07);
    const phases = [];
    for (let k = 1; k * tone < 3900; ++k) {
      const gain = formants.reduce((sum, f, i) => sum + 1 / (1 + ((k * tone - f * shifts[i]) / 120) ** 2), 0.01);
      phases.push([2 * Math.PI * k * tone / rate, random.uniform(0, 6.28), gain]);
    }
    const end = Math.min(samples.length, start + syllable);
    for (let i = start; i < end; ++i) {
      const envelope = Math.sin(Math.PI * (i - start) / syllable);
      for (const [step, phase, gain] of phases) samples[i] += 0.04 * envelope * gain * Math.sin(step * i + phase);
      samples[i] = Math.max(-1, Math.min(1, samples[i] + 0.001 * random.normal()));
    }
  }
  return samples;
}

// A WAV file with 16 bits per sample; each channel has the same samples.
export function wav(samples, { rate = 16000, channels = 1 } = {}) {
  const bytes = Buffer.alloc(44 + 2 * channels * samples.length);
  bytes.write('RIFF');
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(channels, 22);
  bytes.writeUInt32LE(rate, 24);
  bytes.writeUInt32LE(2 * channels * rate, 28);
  bytes.writeUInt16LE(2 * channels, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(bytes.length - 44, 40);
  samples.forEach((sample, i) => {
    for (let channel = 0; channel < channels; ++channel) bytes.writeInt16LE(Math.round(32767 * sample), 44 + 2 * (channels * i + channel));
  });
  return bytes;
}
