const SUFFIXES = {
  fp32: '',
  fp16: '_fp16',
  q8: '_quantized',
  int8: '_int8',
  uint8: '_uint8',
  q4: '_q4',
  q4f16: '_q4f16',
  bnb4: '_bnb4',
} as const;

export type WeightName = keyof typeof SUFFIXES;
export const WEIGHT_NAMES = Object.keys(SUFFIXES) as readonly WeightName[];

/** Returns what the names of files with weights of a type end with, before `.onnx`. */
export const weightSuffix = (name: WeightName): string => SUFFIXES[name];
