import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../base/core/package-root.ts';
import { structuredGrammar } from '../../../base/structured-output/index.ts';
import { randomNumbers } from '../../../base/structured-output/fixtures/random-schema.ts';
import { TestEngine, tinyModel } from '../../../../native/lib/fixtures/test-engine.ts';
import { quotationProblem } from './check-quotations.ts';

export interface QuotingOptions {
  readonly answers: number;
  readonly seed: number;
  /** Default: a tiny model, which writes without sense. */
  readonly modelPath?: string | undefined;
  /** Most characters of a source, and of its part in the prompt. One prompt in eight may be longer than 2,000. */
  readonly mostChars?: number;
  readonly mostPromptChars?: number;
  readonly contextTokens?: number;
}

export interface QuotingCounts {
  /** Answers that are one quotation, and those with a schema. */
  plain: number;
  json: number;
  /** Of these, answers that max_tokens cut. */
  cut: number;
  quotations: number;
  wrong: number;
  /** Of the longest prompt. */
  promptTokens: number;
}

interface Listener {
  readonly onWrong: (line: string) => void;
  /** After each answer. */
  readonly onAnswer?: (counts: Readonly<QuotingCounts>) => void;
}

const MIN_WORDS = 5;
const SHORT_PROMPT = 2000;
const QUOTE = { type: 'string', format: 'quote' };
const CLAIMS = {
  type: 'object',
  properties: {
    claims: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          claim: { type: 'string', maxLength: 80 },
          quotes: { type: 'array', items: QUOTE, minItems: 1, maxItems: 2 },
        },
        required: ['claim', 'quotes'],
        additionalProperties: false,
      },
      minItems: 1,
      maxItems: 3,
    },
  },
  required: ['claims'],
  additionalProperties: false,
};

/**
 * Lets a model quote random stretches of the project's own documents, as a whole answer or in JSON, cut at random
 * lengths, and checks each quotation.
 */
export async function quotingAnswers(
  {
    answers,
    seed,
    modelPath = tinyModel,
    mostChars = 2000,
    mostPromptChars = 200,
    contextTokens = 512,
  }: QuotingOptions,
  { onWrong, onAnswer }: Listener,
): Promise<QuotingCounts> {
  const counts: QuotingCounts = { plain: 0, json: 0, cut: 0, quotations: 0, wrong: 0, promptTokens: 0 };
  const words = documentWords();
  await using engine = await TestEngine.load({ modelPath, contextTokens, maxSequences: 1 });
  for (let number = 0; number < answers; number += 1) {
    const random = randomNumbers(seed * 100_000 + number);
    const sources = Array.from({ length: 1 + random(3) }, () => timed(words, 100 + random(mostChars - 100), random));
    const inJson = random(2) === 0;
    const max_words = MIN_WORDS + random(30);
    const form = { quote_of: sources, max_words, ...(inJson && { json: CLAIMS }) };
    const { text: grammar, quotes } = structuredGrammar(form);
    const shown = sources
      .flat()
      .map(({ text }) => text)
      .join('')
      .slice(0, 100 + random(random(8) === 0 ? mostPromptChars : Math.min(mostPromptChars, SHORT_PROMPT)));
    const { text, last } = await engine.generate(`Text:${shown}\n\nThe most important words of the text:`, {
      grammar: { text: grammar, quotable: quotes!.quotable(), closes: true },
      temperature: [0, 0.7, 1.5][random(3)]!,
      topP: [1, 0.9][random(2)]!,
      seed: number,
      maxTokens: 1 + random(200),
    });
    const isWhole = last.type === 'end'; // the text of an error, such as a prompt that is too long, is no JSON
    const told = isWhole ? quotes!.in(text) : [];
    const expected = isWhole && inJson ? quotesIn(text) : [text];
    const problem =
      last.type === 'error'
        ? last.message
        : told.length < expected.length || expected.some((one) => told.every((quotation) => quotation.text !== one))
          ? 'a quotation is not told'
          : told
              .map((one) =>
                quotationProblem(one, sources, MIN_WORDS, expected.includes(one.text) ? max_words : Infinity),
              )
              .find((found) => found !== undefined);
    counts[inJson ? 'json' : 'plain'] += 1;
    counts.cut += last.type === 'end' && last.reason !== 'stop' ? 1 : 0;
    counts.quotations += told.length;
    if (last.type === 'end') counts.promptTokens = Math.max(counts.promptTokens, last.promptTokens);
    if (problem !== undefined) {
      counts.wrong += 1;
      onWrong(`wrong: answer ${number} of seed ${seed}: ${problem}: ${text}`);
    }
    onAnswer?.(counts);
  }
  return counts;
}

const quotesIn = (json: string): string[] =>
  (JSON.parse(json) as { claims: { quotes: string[] }[] }).claims.flatMap(({ quotes }) => quotes);

function documentWords(): string[] {
  const folder = join(packageRoot, 'docs');
  const files = readdirSync(folder).filter((name) => name.endsWith('.md'));
  // Words of scripts without spaces, and controls, are not between spaces.
  return files
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split(/\s+/))
    .filter((word) => word !== '' && !/[\p{Script=Han}\p{Script=Thai}\p{Script=Hiragana}\p{Cc}]/u.test(word));
}

/** Returns a stretch of the words, in parts of a few words with times. */
function timed(words: readonly string[], length: number, random: (below: number) => number) {
  const parts: { text: string; start: number; end: number }[] = [];
  let at = random(words.length);
  for (let chars = 0, time = 0; chars < length;) {
    const taken = Array.from({ length: 1 + random(8) }, () => words[(at += 1) % words.length]!);
    const text = ` ${taken.join(' ')}`;
    parts.push({ text, start: time, end: time + taken.length / 2 });
    time += taken.length / 2 + random(2) / 4;
    chars += text.length;
  }
  return parts;
}
