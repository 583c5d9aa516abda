/** The name of one file of a model that is split into several files: `model-00001-of-00003.gguf`. */
export interface SplitFileName {
  /** The name without the number of the part: `model`, with its folder if the name has one. */
  readonly base: string;
  /** Number of this part, from 1. */
  readonly part: number;
  readonly parts: number;
}

/** Parts that a model may have at most. Larger numbers in a name are mistakes. */
const MAX_PARTS = 1000;

/** Parses the name of a part as llama.cpp writes it. Returns undefined for other names. */
export function parseSplitName(name: string): SplitFileName | undefined {
  const found = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/is.exec(name);
  if (!found) return undefined;
  const [part, parts] = [Number(found[2]), Number(found[3])];
  return part >= 1 && part <= parts && parts <= MAX_PARTS ? { base: found[1] ?? '', part, parts } : undefined;
}

/** Returns the names of all parts of the model that `name` belongs to; only `name` if the model is one file. */
export function partNames(name: string): [first: string, ...others: string[]] {
  const split = parseSplitName(name);
  if (!split) return [name];
  const extension = name.slice(-'.gguf'.length);
  const at = (part: number): string => `${split.base}-${fiveDigits(part)}-of-${fiveDigits(split.parts)}${extension}`;
  return [at(1), ...Array.from({ length: split.parts - 1 }, (_, index) => at(index + 2))];
}

const fiveDigits = (count: number): string => String(count).padStart(5, '0');
