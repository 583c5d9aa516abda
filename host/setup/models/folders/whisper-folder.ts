// Folders with a Whisper model in the form of another program.
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { convertCtranslate2 } from '../convert/ctranslate2-to-ggml.ts';
import { formatError } from '../convert/formats/format-error.ts';
import { readJsonFile } from '../convert/formats/json-file.ts';
import type { MadeFileResult, MakeOptions } from '../convert/formats/made-file.ts';
import { convertTransformers } from '../convert/transformers/transformers-to-ggml.ts';

/** A folder whose model can be converted. */
export interface WhisperFolder {
  /** The files that decide the result, the weights first. */
  readonly files: readonly string[];
  /** Length of the weights. */
  readonly bytes: number;
  /** Writes the model in the form of whisper.cpp with 16-bit weights. */
  convert(target: string, options: MakeOptions): Promise<MadeFileResult>;
}

const INDEX = 'model.safetensors.index.json';
const MOST_SHARDS = 1000;

/**
 * Returns what a folder has: a model of CTranslate2 (`model.bin`), or of Transformers (`model.safetensors`, or several
 * files with an index). Throws `ModelFormatError` for another folder, and says what is missing.
 */
export async function whisperFolder(folder: string): Promise<WhisperFolder> {
  const names = new Set(await readdir(folder));
  const at = (name: string): string => path.join(folder, name);
  if (names.has('model.bin')) {
    const [model, tokenizer] = [at('model.bin'), at('tokenizer.json')];
    const files = [model, ...(names.has('tokenizer.json') ? [tokenizer] : [])];
    const convert: WhisperFolder['convert'] = (target, options) =>
      convertCtranslate2({ model: [model], tokenizer }, target, options);
    return { files, bytes: await bytesOf([model]), convert };
  }
  const weights = names.has('model.safetensors')
    ? [at('model.safetensors')]
    : names.has(INDEX)
      ? (await shardsOf(at(INDEX))).map(at)
      : undefined;
  if (!weights) throw otherFolder(folder, names);
  const tokenizer = at(names.has('tokenizer.json') || !names.has('vocab.json') ? 'tokenizer.json' : 'vocab.json');
  const config = at('config.json');
  return {
    files: [...weights, config, tokenizer].filter((file) => names.has(path.basename(file))),
    bytes: await bytesOf(weights),
    convert: (target, options) => convertTransformers({ weights, config, tokenizer }, target, options),
  };
}

/** Returns the names of the files in an index. They lie beside it. */
async function shardsOf(index: string): Promise<string[]> {
  const parsed = await readJsonFile(index, 'it lists the files of the model');
  const map = (parsed as { readonly weight_map?: unknown } | null)?.weight_map;
  const names = typeof map === 'object' && map !== null ? [...new Set<unknown>(Object.values(map))] : [];
  if (names.length === 0 || names.length > MOST_SHARDS) throw formatError(INDEX, 'it lists no files of a model');
  return names.map((name) => {
    if (typeof name === 'string' && /^[\w.-]+\.safetensors$/.test(name)) return name;
    throw formatError(INDEX, `${JSON.stringify(name)} is not the name of a safetensors file beside it`);
  });
}

async function bytesOf(files: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const file of files) {
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile()) throw formatError(path.basename(file), 'the file of the model is missing');
    bytes += found.size;
  }
  return bytes;
}

function otherFolder(folder: string, names: ReadonlySet<string>): AanaError {
  const has = (pattern: RegExp): boolean => [...names].some((name) => pattern.test(name));
  const hint = has(/^adapter_model\./)
    ? '; it has an adapter: merge it into its model and save that'
    : has(/^(pytorch_model.*\.bin|.*\.pt)$/)
      ? '; it has weights that only PyTorch can read: save them as safetensors'
      : '';
  const message = `${folder} has no model.bin of CTranslate2 and no model.safetensors of Transformers${hint}`;
  return fail('ModelFormatError', message, { data: { path: folder } });
}
