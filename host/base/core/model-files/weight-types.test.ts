import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chosenWeightType, WEIGHT_TYPES, type WeightDevice, type WeightWish } from './weight-types.ts';

const Weights = suite('choosing the type of the weights');

const { f16, q8_0: q8, q4_1: q4, q4_k_m: q4k, q5_k_m: q5k } = WEIGHT_TYPES;
const CASES: readonly (readonly [WeightWish, number | undefined, WeightDevice, string | undefined])[] = [
  [{}, f16.fileType, 'cpu', undefined],
  [{ load_in_4bit: true, load_in_8bit: false }, f16.fileType, 'gpu', 'q4_k_m'],
  [{ load_in_4bit: true }, q5k.fileType, 'gpu', 'q4_k_m'],
  [{ load_in_4bit: true }, q4.fileType, 'cpu', undefined],
  [{ load_in_8bit: true }, 0, 'cpu', 'q8_0'],
  [{ load_in_8bit: true }, q8.fileType, 'cpu', undefined],
  [{ load_in_8bit: true }, q4k.fileType, 'cpu', undefined],
  [{ load_in_8bit: true }, undefined, 'cpu', 'q8_0'],
  [{ load_in_8bit: true }, 19, 'cpu', undefined],
  [{ weight_type: 'q8_0' }, q4.fileType, 'cpu', 'q8_0'],
  [{ weight_type: 'q8_0' }, q8.fileType, 'cpu', undefined],
  [{ weight_type: 'q6_k' }, undefined, 'cpu', 'q6_k'],
  [{ weight_type: 'auto' }, q4.fileType, 'cpu', 'q8_0'],
  [{ weight_type: 'auto' }, q4.fileType, 'gpu', undefined],
  [{ weight_type: 'auto' }, q4.fileType, 'cpu-kernels', undefined],
  [{ weight_type: 'auto' }, q4k.fileType, 'cpu', undefined],
  [{ weight_type: 'auto' }, f16.fileType, 'cpu-kernels', 'q8_0'],
  [{ weight_type: 'auto' }, 0, 'cpu-kernels', 'q8_0'],
  [{ weight_type: 'auto' }, 0, 'gpu', undefined],
];
for (const [wish, fileType, place, chosen] of CASES) {
  Weights(`${JSON.stringify(wish)} takes ${chosen ?? 'the file'} for type ${fileType} on ${place}`, () =>
    assert.is(chosenWeightType(wish, fileType, place), chosen),
  );
}

Weights.run();
