import { askOperator } from '../../apis/control/index.ts';
import type { ApplicationCommand } from './application.ts';
import { settingLines } from './setting-lines.ts';

/** The command `plugins`. Prints the plugins of the running server with their limits and counters. */
export async function pluginsList({ out, ...at }: ApplicationCommand, asJson: boolean): Promise<number> {
  const { plugins } = await askOperator(at, 'get /api/application', {});
  if (asJson) {
    out.write(`${JSON.stringify(plugins, undefined, 2)}\n`);
    return 0;
  }
  for (const plugin of plugins) {
    const { name, state, error, source, version, digest, endpoints, limits, counters, draining } = plugin;
    const failed = Object.entries(counters.failed)
      .map(([kind, count]) => `${kind} ${count}`)
      .join(', ');
    const lines = [
      ['state', `${state}${draining > 0 ? `, ${draining} older draining` : ''}`],
      ...(error === null ? [] : [['error', error]]),
      ['source', source],
      ...(digest === null
        ? []
        : [
            ['sha256', digest],
            ['endpoints', endpoints.join(', ')],
            [
              'limits',
              Object.entries(limits ?? {})
                .map((pair) => pair.join(' '))
                .join(', '),
            ],
          ]),
      ...settingLines(plugin.settings),
      ...processLines(plugin),
      [
        'requests',
        `running ${counters.running}, queued ${counters.queued}, done ${counters.done}, failed ${failed || 0}, ` +
          `denied calls ${counters.denied}, cpu ${counters.cpu_ms} ms`,
      ],
    ];
    out.write(
      `${name}${version === null ? '' : ` ${version}`}\n` +
        lines.map(([key, value]) => `  ${key?.padEnd(10)} ${value}\n`).join(''),
    );
  }
  if (plugins.length === 0) out.write('the server has no plugins\n');
  return 0;
}

/** Says what the process of a plugin has, or why it does not run. */
function processLines({
  state,
  memory_bytes: memory,
  missing_confinement: missing,
  restarts,
}: {
  readonly state: string;
  readonly memory_bytes: number | null;
  readonly missing_confinement: readonly string[] | null;
  readonly restarts: number | null;
}): string[][] {
  if (state === 'idle') return [['process', 'ended because nothing ran; the next request starts it']];
  if (missing === null) return [];
  const facts = [
    ...(memory === null ? [] : [`${Math.round(memory / 1e6)} MB of its own`]),
    missing.length === 0 ? 'confined' : `not fully confined: ${missing.join(', ')}`,
    `ended unexpectedly ${restarts ?? 0} times`,
  ];
  return [['process', facts.join('; ')]];
}

/** The command `plugins reload`. Returns 1 when a plugin could not be loaded; its old version then keeps serving. */
export async function pluginsReload({ out, ...at }: ApplicationCommand, name: string | undefined): Promise<number> {
  const { plugins: outcomes } = await askOperator(at, 'post /api/plugins/reload', { query: { name } });
  for (const { name: plugin, outcome, detail } of outcomes) out.write(`${plugin}: ${outcome}: ${detail}\n`);
  return outcomes.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
}
