import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chosenWeightType, WEIGHT_TYPES, type WeightWish } from './weight-types.ts';

const Weights = suite('choosing the type of the weights');

const { f16, q8_0: q8, q4_1: q4, q4_k_m: q4k, q5_k_m: q5k } = WEIGHT_TYPES;
const CASES: readonly (readonly [WeightWish, number | undefined, onGpu: boolean, string | undefined])[] = [
  [{}, f16.fileType, false, undefined],
  [{ load_in_4bit: true, load_in_8bit: false }, f16.fileType, true, 'q4_k_m'],
  [{ load_in_4bit: true }, q5k.fileType, true, 'q4_k_m'],
  [{ load_in_4bit: true }, q4.fileType, false, undefined],
  [{ load_in_8bit: true }, 0, false, 'q8_0'],
  [{ load_in_8bit: true }, q8.fileType, false, undefined],
  [{ load_in_8bit: true }, q4k.fileType, false, undefined],
  [{ load_in_8bit: true }, undefined, false, 'q8_0'],
  [{ load_in_8bit: true }, 19, false, undefined],
  [{ weight_type: 'q8_0' }, q4.fileType, false, 'q8_0'],
  [{ weight_type: 'q8_0' }, q8.fileType, false, undefined],
  [{ weight_type: 'q6_k' }, undefined, false, 'q6_k'],
  [{ weight_type: 'auto' }, q4.fileType, false, 'q8_0'],
  [{ weight_type: 'auto' }, q4.fileType, true, undefined],
  [{ weight_type: 'auto' }, q4k.fileType, false, undefined],
];
for (const [wish, fileType, onGpu, chosen] of CASES) {
  const where = onGpu ? 'a GPU' : 'a CPU';
  Weights(`${JSON.stringify(wish)} takes ${chosen ?? 'the file'} for type ${fileType} on ${where}`, () =>
    assert.is(chosenWeightType(wish, fileType, onGpu), chosen),
  );
}

Weights.run();
