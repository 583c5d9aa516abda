import { parseSplitName, partNames } from '../../../base/core/model-files/split-file-names.ts';

/** Weight types in order of preference. Types that are small enough for most machines come first. */
const PREFERRED = ['q4_k_m', 'q8_0', 'q5_k_m', 'q4_k_s', 'q4_0', 'q4_1', 'q6_k', 'q5_0', 'f16', 'bf16'];

/** Types of a projector in order of preference. They are small, and read one image at a time. */
const PREFERRED_PROJECTORS = ['f16', 'bf16', 'q8_0', 'f32'];

/** Whether a file is the projector of a model: by the convention of llama.cpp, its name has `mmproj`. */
export const isProjector = (file: string): boolean => /mmproj[^/]*\.gguf$/i.test(file);

/** The models among the files of a repository or folder. */
export interface GgufModels {
  /** One name for each model: its file, or the first of its parts. */
  readonly whole: readonly string[];
  /** The names of parts that split models lack. */
  readonly missing: readonly string[];
}

/** Finds the models that all their parts are listed for. */
export function ggufModels(files: readonly string[]): GgufModels {
  const listed = new Set(files);
  const firsts = new Set(
    files.filter((file) => /\.gguf$/i.test(file) && !isProjector(file)).map((file) => partNames(file)[0]),
  );
  const missingOf = (first: string): string[] => partNames(first).filter((part) => !listed.has(part));
  return {
    whole: [...firsts].filter((first) => missingOf(first).length === 0),
    missing: [...firsts].flatMap(missingOf),
  };
}

/** Returns the best of several GGUF models, which are named as in {@link GgufModels}. */
export const bestGguf = (models: readonly string[]): string | undefined => bestOf(models, PREFERRED);

/** Returns the best projector among the files of a repository or folder. */
export const bestProjector = (files: readonly string[]): string | undefined =>
  bestOf(files.filter(isProjector), PREFERRED_PROJECTORS);

function bestOf(models: readonly string[], preferred: readonly string[]): string | undefined {
  for (const type of preferred) {
    const ofType = models.filter((model) => typeNameOf(model).endsWith(type));
    const found = ofType.find((model) => parseSplitName(model) === undefined) ?? ofType[0];
    if (found !== undefined) return found;
  }
  return models.toSorted()[0];
}

/** Returns the name without the number of a part and without the extension. */
function typeNameOf(model: string): string {
  return (parseSplitName(model)?.base ?? model.replace(/\.gguf$/i, '')).toLowerCase();
}
