// `npm run campaign:structured -- [schemas] [seed] [model.gguf]`: answers under random schemas, cut at random lengths,
// are valid. `npm run campaign:structured -- cases <folder>`: the cases of a clone of JSON-Schema-Test-Suite, such as
// tests/draft2020-12.
import { checkCases } from './cases.ts';
import { answerSchemas } from './random-answers.ts';

const [first = '500', second = '1', model] = process.argv.slice(2);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const result =
  first === 'cases'
    ? await checkCases(second, print)
    : await answerSchemas({ schemas: Number(first), seed: Number(second), modelPath: model }, print);
print(JSON.stringify(result));
process.exitCode = result.wrong === 0 ? 0 : 1;
