import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeMerged } from '../../../native/lib/fixtures/tiny-adapter.ts';
import { greedyTexts, judged, type Parity } from './parity.ts';
import type { Completion } from './protocol.ts';
import { startAana, startLlamaServer, type StartSubject } from './subjects.ts';

export interface ServerParityOptions {
  readonly modelPath: string;
  readonly threads: number;
  readonly modelKwargs: Readonly<Record<string, unknown>>;
  /** llama-server's program. */
  readonly llamaServer: string;
  readonly prompts: number;
  readonly margin: number;
}

/** A comparison with guessed tokens, and how many were guessed and came true by our counters. */
export interface GuessingParity extends Parity {
  readonly guessed: number | undefined;
  readonly accepted: number | undefined;
}

export interface ServerParity {
  readonly prompts: number;
  readonly margin: number;
  readonly alone: Parity;
  readonly inBatches: Parity;
  readonly withNgrams: GuessingParity;
  readonly withNgramsInBatches: GuessingParity;
  readonly withDraftModel: GuessingParity;
  readonly withDraftModelInBatches: GuessingParity;
}

/** The draft model is the model with other weights, so that a part of its guesses does not come true. */
const DRAFT = { seed: 5, spread: 0.3 };
const LEAST_PROBABILITY = 0.1;
const AT_ONCE = 8;
/** Counters are reported twice a second. */
const REPORTED_MS = 1500;

/** Compares our greedy texts with llama-server's, whose requests run alone. */
export async function compareServers(options: ServerParityOptions): Promise<ServerParity> {
  const { llamaServer, modelPath, threads, modelKwargs, prompts, margin } = options;
  const server = { modelPath, threads, slots: AT_ONCE, contextTokens: 512 };
  const folder = mkdtempSync(join(tmpdir(), 'aana-server-parity-'));
  try {
    const draft = join(folder, 'draft.gguf');
    writeMerged(draft, modelPath, DRAFT, 1);
    const theirs = await textsOf(startLlamaServer(llamaServer), 1);
    const parity = async (atOnce: number): Promise<Parity> =>
      judged(await textsOf(startAana(modelKwargs), atOnce), theirs, margin);
    const guessing = async (speculative: object, atOnce: number): Promise<GuessingParity> => {
      const kwargs = { ...modelKwargs, speculative_config: speculative };
      await using subject = await startAana(kwargs)(server);
      const ours = await greedyTexts(subject, prompts, atOnce);
      await sleep(REPORTED_MS);
      return { ...judged(ours, theirs, margin), ...(await subject.guesses()) };
    };
    const ngram = { method: 'ngram' };
    const draftModel = { method: 'draft_model', model: draft, p_min: LEAST_PROBABILITY };
    return {
      prompts,
      margin,
      alone: await parity(1),
      inBatches: await parity(AT_ONCE),
      withNgrams: await guessing(ngram, 1),
      withNgramsInBatches: await guessing(ngram, AT_ONCE),
      withDraftModel: await guessing(draftModel, 1),
      withDraftModelInBatches: await guessing(draftModel, AT_ONCE),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }

  async function textsOf(start: StartSubject, atOnce: number): Promise<Completion[]> {
    await using subject = await start(server);
    return await greedyTexts(subject, prompts, atOnce); // before the server ends
  }
}
