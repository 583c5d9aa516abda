import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Figures } from '../paired-rounds.ts';
import type { BatchShape } from './scenarios.ts';
import type { ServerOptions } from './subjects.ts';

/** A line of the output of llama-batched-bench. */
interface BatchedBenchLine {
  readonly pl: number;
  readonly tg: number;
  readonly t: number;
  readonly speed_pp: number;
  readonly speed_tg: number;
}

/**
 * Runs llama-batched-bench once: prompts of `promptTokens` random tokens, computed together, then `answerTokens` steps
 * for all of them, without choosing tokens. Returns the tokens of answers per second of the whole time.
 */
export async function batchedBench(
  path: string,
  { answers, answerTokens }: BatchShape,
  promptTokens: number,
  { modelPath, threads }: Pick<ServerOptions, 'modelPath' | 'threads'>,
): Promise<Figures> {
  const cells = answers * (promptTokens + answerTokens);
  const flags = [
    '-m',
    modelPath,
    '-c',
    String(cells + 256),
    '-npp',
    String(promptTokens),
    '-ntg',
    String(answerTokens),
  ];
  flags.push('-npl', String(answers), '-t', String(threads), '-tb', String(threads), '-ngl', '0');
  const { stdout, stderr } = await promisify(execFile)(path, [...flags, '--output-format', 'jsonl']);
  const json = /^\{.*"speed_tg".*\}$/m.exec(`${stdout}\n${stderr}`)?.[0];
  if (json === undefined) throw new Error(`${path} printed no figures: ${stderr.slice(-500)}`);
  const { pl, tg, t, speed_pp, speed_tg } = JSON.parse(json) as BatchedBenchLine;
  return { tokensPerSecond: (pl * tg) / t, promptTokensPerSecond: speed_pp, stepTokensPerSecond: speed_tg };
}
