import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures } from '../paired-rounds.ts';
import { median, quantile } from '../report.ts';
import { complete } from './completions.ts';
import { Numbers, textOf } from './prompts.ts';
import type { Completion } from './protocol.ts';
import type { ServerOptions, Subject } from './subjects.ts';

/** A kind of load. `run` is called once in each round; its figures come from one server. */
export interface Scenario {
  readonly name: string;
  readonly server: Pick<ServerOptions, 'slots' | 'contextTokens'>;
  /** Whether only the number of tokens per second of whole answers counts. */
  readonly isThroughput?: true;
  /** Shape of the same work for llama-batched-bench, beside which the scenario runs. */
  readonly batch?: BatchShape;
  run(subject: Subject, round: number, size: number): Promise<Figures>;
}

/** So many answers, computed together. */
export interface BatchShape {
  readonly answers: number;
  readonly promptWords: number;
  readonly answerTokens: number;
}

const NUMBERS_AT_ONCE = [1, 8, 32] as const;
/** Clients of a round start so many milliseconds after each other. */
const STAGGER_MS = 40;

/** Requests of unequal lengths, so many at a time. */
const throughput = (inFlight: number): Scenario => ({
  name: `${inFlight} at a time`,
  server: { slots: inFlight, contextTokens: 512 },
  isThroughput: true,
  async run(subject, round, size) {
    const numbers = new Numbers(round);
    const jobs = Array.from(
      { length: Math.max(inFlight, Math.ceil(size * Math.max(6, 2 * inFlight))) },
      (_, index) => ({
        prompt: textOf(numbers.between(10, 150), 1000 * (round + 1) + index),
        n_predict: numbers.between(16, 96),
      }),
    );
    const tokens = jobs.reduce((total, { n_predict }) => total + n_predict, 0);
    const answers: Completion[] = [];
    const cpuBefore = await subject.cpuMs();
    const startedAt = performance.now();
    const client = async (index: number): Promise<void> => {
      await sleep(index * STAGGER_MS);
      for (let job = jobs.shift(); job; job = jobs.shift()) answers.push(await complete(subject.port, job));
    };
    await Promise.all(Array.from({ length: inFlight }, (_, index) => client(index)));
    return {
      tokensPerSecond: (tokens * 1000) / (performance.now() - startedAt),
      cpuMsPerToken: ((await subject.cpuMs()) - cpuBefore) / tokens,
      firstTextMs: median(answers.map(({ firstMs }) => firstMs)),
      firstTextP95Ms: quantile(
        answers.map(({ firstMs }) => firstMs),
        0.95,
      ),
      memoryMb: await subject.memoryMb(),
    };
  },
});

/** As many answers of equal lengths at once as llama-batched-bench computes together. */
const batchOf = (answers: number): Scenario => {
  const batch = { answers, promptWords: 40, answerTokens: 24 };
  return {
    name: `batch of ${answers}`,
    server: { slots: answers, contextTokens: 256 },
    batch,
    async run(subject, round) {
      const startedAt = performance.now();
      await Promise.all(
        Array.from({ length: answers }, (_, index) =>
          complete(subject.port, {
            prompt: textOf(batch.promptWords, 1000 * (round + 1) + index),
            n_predict: batch.answerTokens,
          }),
        ),
      );
      return { tokensPerSecond: (answers * batch.answerTokens * 1000) / (performance.now() - startedAt) };
    },
  };
};

const LONG_PROMPT_WORDS = 6300;
const SHORT_REQUESTS = 7;

/** Short requests beside a prompt of about 7,500 tokens. */
const long: Scenario = {
  name: 'long prompt',
  server: { slots: 8, contextTokens: 8192 },
  async run(subject, round) {
    const longJob = (seed: number) => ({ prompt: textOf(LONG_PROMPT_WORDS, seed), n_predict: 16 });
    const shortJob = (index: number) => ({ prompt: textOf(12, 100 * round + 10 + index), n_predict: 16 });
    const shorts = (): Promise<Completion[]> =>
      Promise.all(
        Array.from({ length: SHORT_REQUESTS }, async (_, index) => {
          await sleep(300 + index * STAGGER_MS);
          return complete(subject.port, shortJob(index));
        }),
      );
    // What the long request loses is a figure of ours alone, because others need minutes for two long prompts.
    const isOurs = subject.name === 'aana-host';
    const shortsStartedAt = performance.now();
    if (isOurs) await shorts();
    const shortsAloneMs = performance.now() - shortsStartedAt - 300;
    const alone = isOurs ? await complete(subject.port, longJob(7_000_000 + 2 * round)) : undefined;
    const [beside, answers] = await Promise.all([complete(subject.port, longJob(7_000_001 + 2 * round)), shorts()]);
    const first = answers.map(({ firstMs }) => firstMs).toSorted((a, b) => a - b);
    return {
      shortFirstTextP95Ms: first.at(-1) ?? Number.NaN, // of seven, the 95th percentile is the last
      shortFirstTextMs: median(first),
      longFirstTextMs: beside.firstMs,
      // What the long request loses beyond the work of the short ones.
      ...(alone && { longLoss: (beside.ms - shortsAloneMs) / alone.ms - 1 }),
    };
  },
};

const SHARING = 32;

/** Requests with a shared beginning of about 1,000 tokens, all at once. */
const prefix: Scenario = {
  name: 'shared prefix',
  server: { slots: SHARING, contextTokens: 1280 },
  async run(subject, round) {
    const shared = textOf(850, 50_000 + round);
    const cpuBefore = await subject.cpuMs();
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: SHARING }, (_, index) =>
        complete(subject.port, { prompt: `${shared}\n${textOf(15, index)}`, n_predict: 2 }),
      ),
    );
    const seconds = (performance.now() - startedAt) / 1000;
    return {
      promptTokensPerSecond: answers.reduce((total, { promptTokens }) => total + promptTokens, 0) / seconds,
      requestsPerSecond: SHARING / seconds,
      cpuMsPerRequest: ((await subject.cpuMs()) - cpuBefore) / SHARING,
    };
  },
};

const CONVERSATIONS = 64;
const MOST_AT_ONCE = 2;

/** Conversations of about 1,000 tokens that take turns, more of them than there are slots. */
const conversations: Scenario = {
  name: '64 conversations',
  server: { slots: 4, contextTokens: 2048 },
  async run(subject, round, size) {
    const talks = Array.from({ length: Math.ceil(size * CONVERSATIONS) }, (_, index) => ({
      text: textOf(850, 1000 * (round + 1) + index),
      tokens: 0,
    }));
    const takeTurns = async (question: string): Promise<Completion[]> => {
      const waiting = [...talks];
      const answers: Completion[] = [];
      const client = async (): Promise<void> => {
        for (let talk = waiting.shift(); talk; talk = waiting.shift()) {
          talk.text += question;
          const answer = await complete(subject.port, { prompt: talk.text, n_predict: 8 });
          talk.text += answer.text;
          talk.tokens = answer.promptTokens + answer.completionTokens;
          answers.push(answer);
        }
      };
      await Promise.all(Array.from({ length: MOST_AT_ONCE }, client));
      return answers;
    };
    await takeTurns('\nWhat is that?');
    const tokens = talks.reduce((total, talk) => total + talk.tokens, 0);
    const cpuBefore = await subject.cpuMs();
    const answers = await takeTurns('\nAnd then?');
    return {
      reusedPart: answers.reduce((total, { reusedTokens }) => total + reusedTokens, 0) / tokens,
      firstTextMs: median(answers.map(({ firstMs }) => firstMs)),
      cpuMsPerRequest: ((await subject.cpuMs()) - cpuBefore) / answers.length,
      memoryMb: await subject.memoryMb(),
    };
  },
};

const READ_BEFORE_LEAVING = 30;
/** A counter that has not changed for so long has its last value. Ours is reported every half second. */
const SETTLED_MS = 2000;

/** A client that leaves in the middle of a long answer. */
const left: Scenario = {
  name: 'client left',
  server: { slots: 4, contextTokens: 2048 },
  async run(subject, round) {
    const before = await settledCount(subject);
    const prompt = textOf(20, 90_000 + round);
    const stays = (pieces: number): boolean => pieces < READ_BEFORE_LEAVING;
    const { pieces } = await complete(subject.port, { prompt, n_predict: 1000 }, stays);
    // Tokens that the server chose for this answer beyond the texts that the client has read.
    return { tokensAfterLeaving: (await settledCount(subject, before)) - before - pieces };
  },
};

/** Returns the counter of tokens when it has stopped growing; with `beyond`, not before it has grown beyond this. */
async function settledCount(subject: Subject, beyond = -1): Promise<number> {
  const deadline = performance.now() + 60_000;
  let last = await subject.generatedTokens();
  for (let since = performance.now(); performance.now() < deadline;) {
    await sleep(200);
    const now = (await subject.generatedTokens()) ?? 0;
    if (now !== last) since = performance.now();
    last = now;
    if (now > beyond && performance.now() - since > SETTLED_MS) return now;
  }
  throw new Error(`the counter of tokens of ${subject.name} did not come to rest`);
}

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 24 },
    age: { type: 'integer', minimum: 0, maximum: 120 },
    tags: { type: 'array', items: { type: 'string', maxLength: 12 }, minItems: 2, maxItems: 4 },
    address: {
      type: 'object',
      properties: { street: { type: 'string', maxLength: 24 }, city: { enum: ['Berlin', 'Paris', 'Rome'] } },
      required: ['street', 'city'],
      additionalProperties: false,
    },
  },
  required: ['name', 'age', 'tags', 'address'],
  additionalProperties: false,
};

/** A JSON Schema's cost for each token of the answer. */
const json: Scenario = {
  name: 'JSON schema',
  server: { slots: 4, contextTokens: 1024 },
  async run(subject, round) {
    const cost = async (schema: boolean): Promise<number> => {
      const cpuBefore = await subject.cpuMs();
      let tokens = 0;
      for (let index = 0; index < 6; index += 1) {
        const prompt = `A person as JSON, number ${round * 10 + index}: `;
        const job = { prompt, n_predict: 60, ...(schema && { json_schema: SCHEMA }) };
        const { completionTokens, pieces } = await complete(subject.port, job);
        tokens += Number.isNaN(completionTokens) ? pieces : completionTokens;
      }
      return ((await subject.cpuMs()) - cpuBefore) / tokens;
    };
    const free = await cost(false);
    const bound = await cost(true);
    return { cpuMsPerToken: bound, timesFree: bound / free };
  },
};

export const SCENARIOS: readonly Scenario[] = [
  ...NUMBERS_AT_ONCE.map(throughput),
  ...NUMBERS_AT_ONCE.map(batchOf),
  long,
  prefix,
  conversations,
  left,
  json,
];
