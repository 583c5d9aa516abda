import { Ajv2020 } from 'ajv/dist/2020.js';
import { compileJsonSchema } from '../../../base/json-schema/index.ts';
import { TestEngine, tinyModel } from '../../../../native/lib/fixtures/test-engine.ts';
import { structuredGrammar } from '../../../base/structured-output/index.ts';
import { randomNumbers, randomSchema } from '../../../base/structured-output/fixtures/random-schema.ts';

export interface AnswerOptions {
  readonly schemas: number;
  readonly seed: number;
  /** Default: a tiny model, which writes without sense. */
  readonly modelPath?: string | undefined;
}

export interface AnswerCounts {
  /** Answers that ended by themselves, of those that would have been closed. */
  ended: number;
  /** Answers that were cut, and closed. */
  closed: number;
  /** Answers that ended by themselves and would not have been closed. */
  endedOpen: number;
  /** Answers that were cut and not closed. They are not checked. */
  cut: number;
  /** Answers that are not JSON, or that one of two validators does not take. */
  wrong: number;
}

/**
 * Answers random schemas twice, each with a random limit: with `close_json`, and without it with a higher limit.
 * `print` is called with each wrong answer.
 */
export async function answerSchemas(
  { schemas, seed, modelPath = tinyModel }: AnswerOptions,
  print: (line: string) => void,
): Promise<AnswerCounts> {
  const counts: AnswerCounts = { ended: 0, closed: 0, endedOpen: 0, cut: 0, wrong: 0 };
  await using engine = await TestEngine.load({ modelPath, contextTokens: CONTEXT, maxSequences: 4 });
  const one = async (number: number, closes: boolean): Promise<void> => {
    const random = randomNumbers(seed * 100_000 + number);
    const schema = randomSchema(random);
    const { text, last } = await engine.generate('Write JSON:', {
      grammar: { text: structuredGrammar({ json: schema, strict: true }).text, closes },
      temperature: [0, 0.7, 1.5][random(3)]!,
      topP: [1, 0.9][random(2)]!,
      seed: number,
      maxTokens: 1 + random(closes ? MOST_CLOSED : MOST_OPEN),
    });
    const isCut = last.type === 'end' && last.reason !== 'stop';
    if (isCut && !closes) {
      counts.cut += 1;
      return;
    }
    const problem = last.type === 'error' ? last.message : problemOf(schema, text);
    if (problem !== undefined) {
      counts.wrong += 1;
      print(`wrong: schema ${number} of seed ${seed}: ${problem}: ${JSON.stringify(schema)}: ${text}`);
    } else if (isCut) counts.closed += 1;
    else counts[closes ? 'ended' : 'endedOpen'] += 1;
  };
  for (let number = 0; number < schemas; number += 2)
    await Promise.all(
      [0, 1]
        .filter((more) => number + more < schemas)
        .flatMap((more) => [one(number + more, true), one(number + more, false)]),
    );
  return counts;
}

const CONTEXT = 512;
/** Most tokens of an answer that is closed when it is cut. */
const MOST_CLOSED = 120;
const MOST_OPEN = 480;

/** Returns why an answer is not valid, for ajv or for the validator of the host; undefined when it is. */
function problemOf(schema: Record<string, unknown>, text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return (error as Error).message;
  }
  const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });
  if (!ajv.validate(schema, value)) return `ajv: ${ajv.errorsText()}`;
  const [issue] = compileJsonSchema(schema).issues(value);
  return issue && `host: ${JSON.stringify(issue)}`;
}
