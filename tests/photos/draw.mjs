// SPDX-License-Identifier: Apache-2.0
// Photos of drawn faces: an oval of grey fields that differ by person, with five coloured dots. Each
// photo has another place, size, turn and light.
import { createRequire } from 'node:module';
import { TEMPLATE } from '../../examples/photos/align.mjs';
import { generator } from './chance.mjs';
import { POINT_COLOURS } from './networks.mjs';

// The package of the examples.
export const sharp = createRequire(new URL('../../examples/package.json', import.meta.url))('sharp');

// A person's face, in the coordinates of an aligned one.
function face(person) {
  const random = generator(1000 + person);
  const fields = [];
  for (let row = -1; row < 9; ++row) {
    for (let column = -1; column < 9; ++column) {
      const grey = Math.round(random.uniform(20, 235));
      fields.push(`<rect x="${14 * column}" y="${14 * row}" width="14.2" height="14.2" fill="rgb(${grey},${grey},${grey})"/>`);
    }
  }
  const dots = TEMPLATE.map(([x, y], i) => `<circle cx="${x + 0.5}" cy="${y + 0.5}" r="3.5" fill="rgb(${POINT_COLOURS[i]})"/>`);
  return `<g><g clip-path="url(#oval)">${fields.join('')}</g>${dots.join('')}</g>`;
}

// How a photo shows a face: chosen by a seed.
export function pose(seed, width, height) {
  const random = generator(seed);
  return { scale: random.uniform(0.9, 1.5), turn: random.uniform(-35, 35),
           x: width * random.uniform(0.45, 0.55), y: height * random.uniform(0.45, 0.55) };
}

// A photo with the faces of [person, pose]; sharp's image, for .toFile(). light: factor of brightness.
export function photo(faces, { width = 640, height = 480, light = 1, background = '#707880' } = {}) {
  const drawn = faces.map(([person, { x, y, scale, turn }]) =>
    `<g transform="translate(${x} ${y}) rotate(${turn}) scale(${scale}) translate(-56 -72)">${face(person)}</g>`);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <defs><clipPath id="oval"><ellipse cx="56" cy="64" rx="54" ry="66"/></clipPath></defs>
    <rect width="100%" height="100%" fill="${background}"/>${drawn.join('')}</svg>`;
  return sharp(Buffer.from(svg)).flatten().linear(light, 0);
}
