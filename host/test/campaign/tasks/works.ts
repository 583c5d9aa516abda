import { createHash } from 'node:crypto';

/** A kind of request: how to make it from a number, and the expected outcome of its task. */
export interface Work {
  readonly path: string;
  /** Name of the form part that contains `file`. */
  readonly part?: string;
  readonly input: (n: number) => Readonly<Record<string, unknown>>;
  readonly file?: (n: number) => Buffer;
  readonly result: (n: number) => unknown;
  /** Name of the error with which it always fails. */
  readonly error?: string;
}

export const FAILURE = 'VideoTooLongException';
const VALUES = 12;
const range = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const options = { language: 'en', temperature: 0.5 };

/** Returns the content of a file. Different files have different lengths, too. */
const contentOf = (n: number): Buffer => Buffer.alloc(20_000 + n, `file ${n} `);

export const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** Endpoints of the host, calls of replicas and endpoints of a component, each with a single answer and as a stream. */
export const WORKS: readonly [Work, ...Work[]] = [
  {
    path: '/campaign/hash',
    part: 'video',
    input: (n) => ({ n, file: 'video' }),
    file: contentOf,
    result: (n) => ({ n, sha256: sha256(contentOf(n)) }),
  },
  {
    path: '/campaign/stream',
    input: (n) => ({ n, count: VALUES }),
    result: (n) => range(VALUES, (index) => ({ n, index })),
  },
  { path: '/campaign/replica', input: (n) => ({ n }), result: (n) => ({ text: `task ${n}` }) },
  {
    path: '/campaign/replica_stream',
    input: (n) => ({ n, count: VALUES }),
    result: (n) => range(VALUES, (index) => ({ n, index })),
  },
  {
    path: '/bench/calls',
    input: (n) => ({ text: `task ${n}`, count: 4, options }),
    result: (n) => ({ text: `task ${n}`, count: 4 }),
  },
  {
    path: '/bench/stream',
    input: (n) => ({ text: `task ${n}`, count: VALUES, options }),
    result: (n) => range(VALUES, () => ({ text: `task ${n}` })),
  },
  { path: '/campaign/fail', input: (n) => ({ n }), result: () => null, error: FAILURE },
];
