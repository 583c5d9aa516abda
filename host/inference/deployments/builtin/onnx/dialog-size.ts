import path from 'node:path';
import { fail } from '../../../../base/core/errors.ts';
import { DEFAULT_TOKENS } from '../context-length.ts';
import { countOf } from '../gguf-header.ts';
import { readConfig } from './pipeline-files.ts';

/** How long dialogs with a model can be. */
export interface DialogSize {
  readonly tokens: number;
  /** Bytes of the keys and values of all tokens; 0 if the configuration of the model does not tell its sizes. */
  readonly bytes: number;
}

/** Bytes of a key's or value's number. Models with 16-bit ones need less. */
const NUMBER_BYTES = 4;

/**
 * Returns the size of a dialog with the model in `folder`. Throws `ValidationError` for more tokens than the model was
 * trained with.
 * @param wanted tokens; 0 is the length that the model was trained with, undefined at most the default
 */
export async function dialogSize(folder: string, wanted: number | undefined): Promise<DialogSize> {
  const config = await readConfig(path.join(folder, 'config.json'));
  const of = (key: string): number => countOf(config[key]);
  const trained = of('max_position_embeddings') || Infinity;
  if (wanted !== undefined && wanted > trained)
    throw fail(
      'ValidationError',
      `user_config: model_kwargs.n_ctx: ${wanted} is more than the ${trained} tokens that the model was trained with`,
    );
  const most = Math.min(trained, DEFAULT_TOKENS);
  const tokens = wanted === 0 ? (trained === Infinity ? most : trained) : (wanted ?? most);
  const heads = of('num_attention_heads');
  const headSize = of('head_dim') || (heads > 0 ? of('hidden_size') / heads : 0);
  const numbers = of('num_hidden_layers') * (of('num_key_value_heads') || heads) * 2 * headSize;
  return { tokens, bytes: Math.ceil(tokens * numbers * NUMBER_BYTES) };
}
