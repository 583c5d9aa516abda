// Prints the likeliest texts of a language model as JSON, with the likeliest tokens at each place:
// `node greedy-texts.js <addon> <model.gguf>`. check-arm64.ts runs it on two kinds of processors.
import { loadNative } from '../../native/lib/index.ts';
import type { LlamaEvent, LlamaTokenScores } from '../../native/lib/index.ts';

/** The likeliest tokens after a prompt. */
export interface GreedyText {
  readonly prompt: string;
  readonly tokens: readonly {
    readonly text: string;
    /** The likeliest tokens at its place with their natural log-probabilities, itself among them. */
    readonly top: readonly { readonly text: string; readonly logprob: number }[];
  }[];
}

const PROMPTS = ['The capital of France is', 'Once upon a time', '1, 2, 3, 4,'];
const TOKENS = 12;

const [addonPath = '', modelPath = ''] = process.argv.slice(2);
let onEvent: (event: LlamaEvent) => void = () => {};
const engine = await loadNative({ addonPath }).loadLlama(
  {
    modelPath,
    contextTokens: 64,
    maxSequences: 1,
    threads: 1,
    gpuLayers: 0,
    prefillTokensPerStep: 64,
    keyType: 'f16',
    valueType: 'f16',
  },
  (event) => onEvent(event),
  () => {},
);

async function generate(id: number, prompt: string): Promise<GreedyText> {
  const scores: LlamaTokenScores[] = [];
  await new Promise<void>((resolve, reject) => {
    onEvent = (event) => {
      if (event.type === 'text') {
        scores.push(...(event.scores ?? []));
        engine.acknowledge(id, 1);
      } else if (event.type === 'end') resolve();
      else if (event.type === 'error') reject(new Error(event.message));
    };
    const sampling = { temperature: 0, topK: -1, topP: 1, minP: 0, repetitionPenalty: 1, seed: 1, logprobs: 5 };
    engine.submit(id, { text: prompt }, { ...sampling, maxTokens: TOKENS, stop: [] });
  });
  const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
  return {
    prompt,
    tokens: scores.map(({ bytes, top }) => ({
      text: textOf(bytes),
      top: top.map(({ bytes: of, logprob }) => ({ text: textOf(of), logprob })),
    })),
  };
}

const texts: GreedyText[] = [];
for (const [index, prompt] of PROMPTS.entries()) texts.push(await generate(index + 1, prompt));
await engine.close();
process.stdout.write(JSON.stringify(texts));
