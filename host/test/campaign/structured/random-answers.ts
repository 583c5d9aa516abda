import { Ajv2020 } from 'ajv/dist/2020.js';
import { compileJsonSchema } from '../../../json-schema/index.ts';
import { TestEngine, tinyModel } from '../../../../native/lib/fixtures/test-engine.ts';
import { structuredGrammar } from '../../../structured-output/index.ts';
import { randomNumbers, randomSchema } from '../../../structured-output/fixtures/random-schema.ts';

export interface AnswerOptions {
  readonly schemas: number;
  readonly seed: number;
  /** Default: a tiny model, which writes without sense. */
  readonly modelPath?: string | undefined;
}

export interface AnswerCounts {
  /** Answers that ended by themselves. */
  ended: number;
  /** Answers that were cut, and closed. */
  closed: number;
  /** Answers that are not JSON, or that one of two validators does not take. */
  wrong: number;
}

/** Answers random schemas, each with a random limit. `print` is called with each wrong answer. */
export async function answerSchemas(
  { schemas, seed, modelPath = tinyModel }: AnswerOptions,
  print: (line: string) => void,
): Promise<AnswerCounts> {
  const counts: AnswerCounts = { ended: 0, closed: 0, wrong: 0 };
  await using engine = await TestEngine.load({ modelPath, contextTokens: 512, maxSequences: 4 });
  const one = async (number: number): Promise<void> => {
    const random = randomNumbers(seed * 100_000 + number);
    const schema = randomSchema(random);
    const { text, last } = await engine.generate('Write JSON:', {
      grammar: { text: structuredGrammar({ json: schema }), closes: true },
      temperature: [0, 0.7, 1.5][random(3)]!,
      topP: [1, 0.9][random(2)]!,
      seed: number,
      maxTokens: 1 + random(120),
    });
    const problem = last.type === 'error' ? last.message : problemOf(schema, text);
    if (problem !== undefined) {
      counts.wrong += 1;
      print(`wrong: schema ${number} of seed ${seed}: ${problem}: ${JSON.stringify(schema)}: ${text}`);
    } else if (last.type === 'end' && last.reason === 'stop') counts.ended += 1;
    else counts.closed += 1;
  };
  for (let number = 0; number < schemas; number += 4)
    await Promise.all([0, 1, 2, 3].filter((more) => number + more < schemas).map((more) => one(number + more)));
  return counts;
}

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
