#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// From a folder of photos to face.npy and labels.txt (docs/photos.md).
import { embed, load, mustBeFile, run, UserError } from '../samples.mjs';
import { similarity, SIZE, TEMPLATE, warp } from './align.mjs';
import { Detector } from './detector.mjs';

const USAGE = `usage: embed.mjs FOLDER --detector FILE --recogniser FILE --input KIND --out FOLDER

  FOLDER        FOLDER/PERSON/*.jpg: labelled photos; or FOLDER/*.jpg: photos without labels
  --detector    YuNet of 2023 or later (.onnx): finds faces and their five points
  --recogniser  network (.onnx): from an aligned face of ${SIZE} x ${SIZE} pixels to a vector
  --input       values of a pixel in the recogniser's input: sface (0 to 255), arcface (-1 to 1)
  --out         folder for face.npy and labels.txt`;

// What a pixel's byte becomes.
const INPUTS = { sface: (byte) => byte, arcface: (byte) => (byte - 127.5) / 127.5 };

async function open(ort, file) {
  mustBeFile(file);
  try {
    return await ort.InferenceSession.create(file, { logSeverityLevel: 3 });
  } catch (error) {
    throw new UserError(`${file}: not a network that ONNX Runtime reads: ${error.message}`);
  }
}

function checkRecogniser(file, session) {
  const { inputMetadata, inputNames, outputNames } = session;
  const shape = inputMetadata[0]?.shape ?? [];
  if (inputNames.length !== 1 || outputNames.length !== 1 || shape.slice(1).join() !== `3,${SIZE},${SIZE}`) {
    throw new UserError(`${file}: must have one input of the shape N x 3 x ${SIZE} x ${SIZE} and one output; it has ` +
                        `${inputNames.length} of ${shape.join(' x ')} and ${outputNames.length}`);
  }
}

async function read(sharp, path) {
  try {
    const { data, info } = await sharp(path, { failOn: 'error' })
      .rotate() // as the camera was held
      .toColourspace('srgb').flatten({ background: '#000000' }).raw().toBuffer({ resolveWithObject: true });
    return { width: info.width, height: info.height, data };
  } catch (error) {
    throw new UserError(`cannot be read: ${error.message}`);
  }
}

await run(USAGE, ['detector', 'recogniser', 'input', 'out'], async (options, folder) => {
  const pixel = Object.hasOwn(INPUTS, options.input) ? INPUTS[options.input] : undefined;
  if (!pixel) throw new UserError(`--input ${options.input}: use ${Object.keys(INPUTS).join(' or ')}`);
  const ort = await load('onnxruntime-node');
  const { default: sharp } = await load('sharp');
  const detector = new Detector(options.detector, await open(ort, options.detector), ort, sharp);
  const recogniser = await open(ort, options.recogniser);
  checkRecogniser(options.recogniser, recogniser);

  const compute = async (path) => {
    const image = await read(sharp, path);
    const faces = await detector.find(image);
    if (faces.length === 0) throw new UserError('no face was found');
    if (faces.length > 1) console.error(`${path}: warning: ${faces.length} faces; the largest is used`);
    const transform = similarity(faces[0].points, TEMPLATE);
    if (!transform) throw new UserError('the five points of the face are one');
    const input = new ort.Tensor('float32', warp(image, transform).map(pixel), [1, 3, SIZE, SIZE]);
    const output = await recogniser.run({ [recogniser.inputNames[0]]: input });
    return output[recogniser.outputNames[0]].data;
  };
  await embed({
    folder, out: options.out, what: 'photos', extensions: ['.jpg', '.jpeg', '.png', '.webp'], modality: 'face', compute,
  });
});
