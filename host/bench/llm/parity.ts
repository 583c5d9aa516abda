import { complete } from './completions.ts';
import { textOf } from './prompts.ts';
import type { Completion, CompletionRequest } from './protocol.ts';
import type { ServerProcess } from '../server-process.ts';

const TOKENS = 48;
const TOPICS = [
  'The lighthouse',
  'A recipe for',
  'def fibonacci',
  'In the year',
  'Dear',
  'Theorem',
  '{"name":',
  'Once',
  '- [ ]',
  'Q:',
];

/** The first place where two greedy texts differ. */
export interface Divergence {
  readonly prompt: number;
  readonly token: number;
  /** Difference of the log-probabilities of our two likeliest tokens at this place. */
  readonly margin: number;
}

/** Returns where greedy texts of `count` prompts differ from the other server's, `atOnce` requests at a time. */
export async function divergences(
  ours: ServerProcess,
  other: ServerProcess,
  count: number,
  atOnce: number,
): Promise<Divergence[]> {
  const requests = Array.from({ length: count }, (_, index) => ({
    prompt: `${TOPICS[index % TOPICS.length]} ${textOf(5 + ((index * 7) % 60), index)}`,
    n_predict: TOKENS,
  }));
  const mine = await inGroups(ours, requests, atOnce);
  const theirs = await inGroups(other, requests, 1);
  return requests.flatMap((_, prompt) => {
    const [one, two] = [mine[prompt], theirs[prompt]];
    return one && two && one.text !== two.text ? [divergence(prompt, one, two)] : [];
  });
}

async function inGroups(
  subject: ServerProcess,
  requests: readonly CompletionRequest[],
  atOnce: number,
): Promise<Completion[]> {
  const answers: Completion[] = [];
  for (let begin = 0; begin < requests.length; begin += atOnce) {
    const group = requests.slice(begin, begin + atOnce);
    answers.push(...(await Promise.all(group.map((one) => complete(subject.port, { ...one, margins: true })))));
  }
  return answers;
}

function divergence(prompt: number, one: Completion, two: Completion): Divergence {
  const [mine, theirs] = [one, two].map(({ text }) => Buffer.from(text));
  let same = 0;
  while (mine?.[same] !== undefined && mine[same] === theirs?.[same]) same += 1;
  let bytes = 0;
  const token = one.tokens.findIndex(({ text }) => (bytes += text.length) > same);
  return { prompt, token, margin: one.tokens[token]?.margin ?? Number.NaN };
}
