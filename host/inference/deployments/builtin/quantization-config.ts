import * as z from 'zod';
import { WEIGHT_TYPES, type WeightType } from '../../../base/core/model-files/weight-types.ts';
import { insteadOf } from './instead-of.ts';

const WEIGHT_TYPE_NAMES = Object.keys(WEIGHT_TYPES) as [WeightType, ...WeightType[]];

/** The type of a model's weights, in the words of transformers or by its name. */
export const QuantizationConfig = z
  .strictObject({
    load_in_4bit: z
      .boolean()
      .optional()
      .describe('Weights of 4 bits (q4_k_m). A file with as few bits is used as it is.'),
    load_in_8bit: z
      .boolean()
      .optional()
      .describe('Weights of 8 bits (q8_0). A file with as few bits is used as it is.'),
    weight_type: z
      .enum(['auto', ...WEIGHT_TYPE_NAMES])
      .optional()
      .describe(
        'Type of the weights. `auto` takes q8_0 on processors for a file whose type has no fast kernels there, and ' +
          'the file as it is otherwise.',
      ),
    ...insteadOf({
      ...{ bnb_4bit_compute_dtype: 'llama.cpp chooses how it computes', bnb_4bit_quant_type: 'write weight_type' },
      ...{
        bnb_4bit_use_double_quant: 'write weight_type',
        quant_method: 'write weight_type',
        bits: 'write weight_type',
      },
    }),
  })
  .refine(
    (config) =>
      [config.load_in_4bit, config.load_in_8bit, config.weight_type !== undefined].filter(Boolean).length <= 1,
    'only one of load_in_4bit, load_in_8bit and weight_type can be given',
  );
