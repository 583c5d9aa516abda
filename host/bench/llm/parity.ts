import { complete } from './completions.ts';
import { textOf } from './prompts.ts';
import type { Completion, CompletionRequest } from './protocol.ts';
import type { ServerProcess } from '../server-process.ts';

/** The comparison of greedy texts of two servers. */
export interface Parity {
  readonly verdict: 'pass' | 'fail';
  readonly equal: number;
  readonly different: readonly Divergence[];
}

/**
 * Returns the verdict on our greedy texts beside the other server's. They may differ only where our two likeliest tokens
 * differ by less than the margin.
 */
export function judged(ours: readonly Completion[], theirs: readonly Completion[], margin: number): Parity {
  const different = ours.flatMap((one, prompt) => {
    const two = theirs[prompt];
    return two && one.text === two.text ? [] : [divergence(prompt, one, two?.text ?? '')];
  });
  const passes = different.every((one) => one.margin < margin);
  return { verdict: passes ? 'pass' : 'fail', equal: ours.length - different.length, different };
}

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

/** Returns the greedy texts of `count` prompts, `atOnce` requests at a time. `adapterOf` names the adapter of a request. */
export function greedyTexts(
  subject: ServerProcess,
  count: number,
  atOnce: number,
  adapterOf: (prompt: number) => string | undefined = () => undefined,
): Promise<Completion[]> {
  const requests = Array.from({ length: count }, (_, index) => ({
    prompt: `${TOPICS[index % TOPICS.length]} ${textOf(5 + ((index * 7) % 60), index)}`,
    n_predict: TOKENS,
    adapter: adapterOf(index),
  }));
  return inGroups(subject, requests, atOnce);
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

function divergence(prompt: number, one: Completion, other: string): Divergence {
  const [mine, theirs] = [Buffer.from(one.text), Buffer.from(other)];
  let same = 0;
  while (mine[same] !== undefined && mine[same] === theirs[same]) same += 1;
  let bytes = 0;
  const token = one.tokens.findIndex(({ text }) => (bytes += text.length) > same);
  return { prompt, token, margin: one.tokens[token]?.margin ?? Number.NaN };
}
