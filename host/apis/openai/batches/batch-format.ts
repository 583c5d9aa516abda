import type { BatchAnswer } from '../../../data/storage/index.ts';
import type { BatchLine } from './batch-line.ts';
import type { BatchOperation } from './batch-operations.ts';

/** Why nothing answers a request of a batch any more. */
export type EndReason = 'cancelled' | 'expired' | 'abandoned';

/** What is told about a request: a line of a file. */
export type Told = Pick<BatchAnswer, 'file' | 'outcome' | 'json'>;

/** How an API names its batches, answers their requests and tells the answers. */
export interface BatchFormat {
  /** The beginning of the ids. */
  readonly prefix: string;
  /** The requests of each path whose requests a batch can have. Each path belongs to one format. */
  readonly operations: Readonly<Record<string, BatchOperation>>;
  /** Whether the host writes the inputs itself, from requests that were within its limits. Default: users do. */
  readonly isInputChecked?: boolean;
  /** `id` is that of the request. */
  answered(line: BatchLine, id: string, answer: object): Told;
  failed(line: BatchLine, id: string, error: unknown): Told;
  /** What is told about requests without an answer; nothing for other reasons. */
  readonly unanswered: Readonly<Partial<Record<EndReason, (line: BatchLine) => Told>>>;
}

/** Returns the format of the batches whose requests have this path. */
export function formatOf(formats: readonly BatchFormat[], endpoint: string): BatchFormat {
  const found = formats.find(({ operations }) => Object.hasOwn(operations, endpoint));
  if (!found) throw new Error(`no API has batches of ${endpoint}`);
  return found;
}
