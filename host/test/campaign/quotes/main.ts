// `npm run campaign:quotes -- [answers] [seed] [model.gguf] [characters] [characters of a prompt]`: what models quote
// stands word for word in a source, with its times. Prints the counts after each answer.
import { quotingAnswers } from './quoting-answers.ts';

const [answers = '500', seed = '1', model, chars = '100000', promptChars = '20000'] = process.argv.slice(2);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const { wrong } = await quotingAnswers(
  {
    answers: Number(answers),
    seed: Number(seed),
    modelPath: model,
    ...(model !== undefined && { mostChars: Number(chars), mostPromptChars: Number(promptChars), contextTokens: 8192 }),
  },
  { onWrong: print, onAnswer: (counts) => print(JSON.stringify(counts)) },
);
process.exitCode = wrong === 0 ? 0 : 1;
