/**
 * Types of weights that llama.cpp can write, with their number in a GGUF file (`general.file_type`) and about how many
 * bits a weight has.
 */
export const WEIGHT_TYPES = {
  f16: { fileType: 1, bits: 16 },
  bf16: { fileType: 32, bits: 16 },
  q8_0: { fileType: 7, bits: 8.5 },
  q6_k: { fileType: 18, bits: 6.6 },
  q5_k_m: { fileType: 17, bits: 5.7 },
  q5_k_s: { fileType: 16, bits: 5.5 },
  q5_1: { fileType: 9, bits: 6 },
  q5_0: { fileType: 8, bits: 5.5 },
  q4_k_m: { fileType: 15, bits: 4.9 },
  q4_k_s: { fileType: 14, bits: 4.6 },
  q4_1: { fileType: 3, bits: 5 },
  q4_0: { fileType: 2, bits: 4.5 },
  iq4_nl: { fileType: 25, bits: 4.5 },
  q3_k_m: { fileType: 12, bits: 3.9 },
  q2_k: { fileType: 10, bits: 3 },
} as const;
export type WeightType = keyof typeof WEIGHT_TYPES;

/** Where a model runs: `cpu-kernels` is a processor for which the engine has kernels of its own. */
export type WeightDevice = 'gpu' | 'cpu' | 'cpu-kernels';

/** Types without fast kernels for prompts; their models read prompts faster as q8_0. */
const SLOW: Readonly<Record<WeightDevice, readonly WeightType[]>> = {
  gpu: [],
  cpu: ['f16', 'bf16', 'q5_1', 'q5_0', 'q4_1'],
  'cpu-kernels': ['f16', 'bf16'],
};
const F32 = 0;

/** Wish for the weights of a model, as in the configuration of a deployment. */
export interface WeightWish {
  readonly load_in_4bit?: boolean | undefined;
  readonly load_in_8bit?: boolean | undefined;
  readonly weight_type?: WeightType | 'auto' | undefined;
}

/**
 * Returns the type with which a model should be written; undefined if its file is good as it is. `fileType` is the
 * number in the file. Weights that have fewer bits than `load_in_…` asks for stay as they are, and so do types that are
 * not listed here, which have few bits. A file that does not tell its type counts as wide.
 */
export function chosenWeightType(
  { load_in_4bit: in4, load_in_8bit: in8, weight_type: named }: WeightWish,
  fileType: number | undefined,
  device: WeightDevice,
): WeightType | undefined {
  const names = Object.keys(WEIGHT_TYPES) as WeightType[];
  const now = names.find((name) => WEIGHT_TYPES[name].fileType === fileType);
  const bits = now ? WEIGHT_TYPES[now].bits : fileType === F32 || fileType === undefined ? 32 : 0;
  if (named === 'auto') {
    const isSlow = fileType === F32 ? device !== 'gpu' : now !== undefined && SLOW[device].includes(now);
    return isSlow ? 'q8_0' : undefined;
  }
  if (named !== undefined) return now === named ? undefined : named;
  if (in4 && bits > WEIGHT_TYPES.q4_1.bits) return 'q4_k_m';
  return in8 && bits > WEIGHT_TYPES.q8_0.bits ? 'q8_0' : undefined;
}
