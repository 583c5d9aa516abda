import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeAdapter, writeMerged } from '../../../native/lib/fixtures/tiny-adapter.ts';
import { greedyTexts, judged, type Parity } from './parity.ts';
import type { Completion } from './protocol.ts';
import { startAana } from './subjects.ts';

export interface AdapterParityOptions {
  readonly modelPath: string;
  readonly threads: number;
  readonly modelKwargs: Readonly<Record<string, unknown>>;
  readonly prompts: number;
  readonly margin: number;
}

export interface AdapterParity {
  readonly prompts: number;
  readonly margin: number;
  /** Prompts whose text the adapter changes. */
  readonly changedTexts: number;
  readonly alone: Parity;
  readonly inBatches: Parity;
  /**
   * Half of the requests in a batch have no adapter. Their texts are compared with those of the model without adapters.
   */
  readonly besideOthers: Parity;
}

const NAME = 'random';
/**
 * Changes the output of attention in all layers by about a third of the size of its weights in SmolLM2. With 0.3, the
 * model says nothing for sure.
 */
const ADAPTER = { seed: 5, spread: 0.2 };
const AT_ONCE = 8;

/**
 * Compares greedy texts with an adapter of random weights with those of the merged model. The matrices that it changes
 * are 32-bit floats on both sides, because merged weights have no exact quantized form.
 */
export async function compareAdapter(options: AdapterParityOptions): Promise<AdapterParity> {
  const { prompts, margin } = options;
  const folder = mkdtempSync(join(tmpdir(), 'aana-adapter-parity-'));
  try {
    const files = [join(folder, 'base.gguf'), join(folder, 'merged.gguf'), join(folder, 'adapter.gguf')] as const;
    const [base, merged, adapter] = files;
    writeMerged(base, options.modelPath, ADAPTER, 0);
    writeMerged(merged, options.modelPath, ADAPTER, 1);
    writeAdapter(adapter, options.modelPath, ADAPTER);
    const texts = (path: string, atOnce: number, uses: readonly boolean[]): Promise<Completion[]> =>
      textsOf({ ...options, modelPath: path }, adapter, atOnce, uses);
    const wanted = await texts(merged, 1, []);
    const plain = await texts(base, 1, [false]);
    const alone = await texts(base, 1, [true]);
    const mixed = [true, false];
    const expected = wanted.map((text, prompt) => (mixed[prompt % 2] ? text : (plain[prompt] ?? text)));
    return {
      prompts,
      margin,
      changedTexts: plain.filter(({ text }, prompt) => text !== alone[prompt]?.text).length,
      alone: judged(alone, wanted, margin),
      inBatches: judged(await texts(base, AT_ONCE, [true]), wanted, margin),
      besideOthers: judged(await texts(base, AT_ONCE, mixed), expected, margin),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Request number `n` uses the adapter if `uses` has true at `n`, from its beginning again behind its end. */
async function textsOf(
  { modelPath, threads, modelKwargs, prompts }: AdapterParityOptions,
  adapter: string,
  atOnce: number,
  uses: readonly boolean[],
): Promise<Completion[]> {
  const adapters = uses.length > 0 ? { [NAME]: { model_id: adapter } } : {};
  await using server = await startAana(
    modelKwargs,
    adapters,
  )({
    modelPath,
    threads,
    slots: AT_ONCE,
    contextTokens: 512,
  });
  return await greedyTexts(server, prompts, atOnce, (prompt) => (uses[prompt % uses.length] ? NAME : undefined));
}
