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
 * Returns the verdict on our greedy texts beside the other server's. They may differ only where our two likeliest
 * tokens differ by less than the margin.
 */
export function judged(ours: readonly Completion[], theirs: readonly Completion[], margin: number): Parity {
  const different = ours.flatMap((one, prompt) => {
    const two = theirs[prompt];
    return two && one.text === two.text ? [] : [divergence(prompt, one, two)];
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

/**
 * Returns the greedy texts of `count` prompts, `atOnce` requests at a time. `adapterOf` names the adapter of a request.
 */
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

/**
 * Finds our first token that the other text has not. Their bytes alone do not tell, because one token's text can begin
 * that of another.
 */
function divergence(prompt: number, one: Completion, other: Completion | undefined): Divergence {
  const [mine, theirs] = [one.text, other?.text ?? ''].map((text) => Buffer.from(text)) as [Buffer, Buffer];
  let same = 0;
  while (mine[same] !== undefined && mine[same] === theirs[same]) same += 1;
  let theirEnd = 0;
  const theirEnds = new Set(other?.tokens.map(({ text }) => (theirEnd += text.length)));
  let end = 0;
  const token = one.tokens.findIndex(({ text }) => (end += text.length) > same || !theirEnds.has(end));
  return { prompt, token, margin: one.tokens[token]?.margin ?? Number.NaN };
}
