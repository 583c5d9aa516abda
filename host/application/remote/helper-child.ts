// Main module of the process of a helper. Arguments: the path of its module and its name. The input comes as JSON from
// stdin, and the answer is the last line of stdout.
import { text } from 'node:stream/consumers';
import { fail, toErrorRecord } from '../../base/core/errors.ts';
import { type Helper, type HelperAnswer, importModule } from '../../base/modules/index.ts';
import { check } from '../../inference/deployments/class/check.ts';

const [path = '', name = ''] = process.argv.slice(2);
const answerTo = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr); // what the helper prints is no answer

const isHelper = (value: unknown): value is Helper =>
  typeof value === 'object' &&
  value !== null &&
  (value as Partial<Helper>).name === name &&
  typeof (value as Partial<Helper>).run === 'function';

async function answer(): Promise<HelperAnswer> {
  const input: unknown = JSON.parse(await text(process.stdin));
  const exports = await importModule(path).catch((error: unknown) => {
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw fail('HelperError', `helper ${name}: ${path} cannot be imported: ${why}`, { cause: error });
  });
  const helper = Object.values(exports).find(isHelper);
  if (!helper) throw fail('HelperError', `helper ${name}: ${path} exports no helper of this name`);
  const result = await helper.run(checked(helper, 'input', input));
  return { result: checked(helper, 'output', result) };
}

function checked(helper: Helper, side: 'input' | 'output', value: unknown): unknown {
  try {
    return check(helper[side], value, `the ${side} of helper ${name}`);
  } catch (error) {
    throw fail('HelperError', (error as Error).message, { cause: error });
  }
}

const end = (given: HelperAnswer): void => {
  answerTo(`\n${JSON.stringify(given)}`, () => process.exit(0));
};
const failed = (error: unknown): void => end({ error: toErrorRecord(error) });
process.on('uncaughtException', failed);
process.on('unhandledRejection', failed);
void answer().then(end, failed);
