import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { CONFIG_FILE, parseConfigFile } from '../../base/config/index.ts';
import { OperatorClient } from '../../apis/control/index.ts';
import { WAYS } from '../../apis/http/dashboard/page/change-words.ts';
import type { ChangePlan } from '../../apis/http/index.ts';
import { fail } from '../../base/core/errors.ts';
import type { ApplicationCommand } from './application.ts';

export interface ApplyOptions {
  /** Whether the configuration before the last one is applied, in place of a file. */
  readonly previous?: boolean | undefined;
  /** Whether the plan is only printed. */
  readonly dryRun: boolean;
  /** Asks before a plan is applied. Default: it is applied without a question. */
  readonly confirm?: (() => Promise<boolean>) | undefined;
}

/**
 * The command `apply`. Prints what the configuration in `file`, or the one before, would change in the running
 * application, and applies it. Returns 0 if the application has the configuration, or with `dryRun` can have it, else
 * 1.
 */
export async function applyConfiguration(
  { out, ...at }: ApplicationCommand,
  file: string = CONFIG_FILE,
  { dryRun, confirm = async () => true, previous = false }: ApplyOptions,
): Promise<number> {
  const path = resolve(file);
  const body = previous ? undefined : parseConfigFile(await textOf(path), path);
  const operator = await OperatorClient.open(at);
  const named = 'url' in at ? undefined : path; // a path of this machine means nothing on another one
  const plan = body
    ? await operator.ask('post /api/configuration/plan', { query: { file: named }, body })
    : await operator.ask('get /api/configuration/rollback', {});
  out.write(planText(plan));
  if (plan.refused.length > 0) return 1;
  if (plan.changes.length + plan.settings.length === 0 || dryRun) return 0;
  if (!(await confirm())) {
    out.write('nothing was changed\n');
    return 1;
  }
  let isApplied = false;
  const events = body
    ? operator.events('post /api/configuration/apply', { query: { file: named, plan_id: plan.id }, body })
    : operator.events('post /api/configuration/rollback', { query: { plan_id: plan.id } });
  for await (const { deployment, state, text } of events) {
    isApplied = state === 'applied';
    out.write(
      `${deployment === null ? '' : `${deployment}: `}${state === 'progress' ? '' : state}${wordsOf(state, text)}\n`,
    );
  }
  return isApplied ? 0 : 1;
}

function wordsOf(state: string, text: string): string {
  if (text === '') return '';
  return state === 'progress' ? text : `: ${text}`;
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw fail(
      'ConfigError',
      `${path}: cannot be read: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`,
    );
  }
}

const SIGNS = { add: '+', change: '~', remove: '-' } as const;

/** Returns a plan for people: a line for each change. */
export function planText({ changes, settings, refused, unchanged }: ChangePlan): string {
  const lines = changes.map(
    ({ kind, deployment, how, keys }) =>
      `${SIGNS[kind]} ${deployment} ${WAYS[how]}${keys.length === 0 ? '' : `: ${keys.join(', ')}`}\n`,
  );
  const set = settings.map((key) => `~ ${key}\n`);
  const no = refused.map(({ key, reason }) => `! ${key}: ${reason}\n`);
  const kept = unchanged === 1 ? '1 deployment stays as it is\n' : `${unchanged} deployments stay as they are\n`;
  const end = refused.length > 0 ? 'nothing can be applied because of the lines with "!"\n' : '';
  const isSame = changes.length + settings.length + refused.length === 0;
  const same = isSame ? 'nothing changes\n' : '';
  return [...lines, ...set, ...no, same, unchanged === 0 ? '' : kept, end].join('');
}

/** Asks at the terminal. Throws where there is none. */
export async function confirmAtTerminal(): Promise<boolean> {
  if (!process.stdin.isTTY) throw fail('InvalidInput', 'there is no terminal to ask at: give --yes or --dry-run');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question('apply this? [y/N] ')).trim());
  } finally {
    terminal.close();
  }
}
