import { callControl } from '../../control/index.ts';
import type { ApplicationCommand } from './application.ts';

/** `plugins`: what the plugins of the running server are and did. */
export async function pluginsList(
  { runtimeDir, host, port, out }: ApplicationCommand,
  asJson: boolean,
): Promise<number> {
  const plugins = await callControl(runtimeDir, 'plugins.list', {}, { host, port });
  if (asJson) {
    out.write(`${JSON.stringify(plugins, undefined, 2)}\n`);
    return 0;
  }
  for (const { name, state, error, source, version, digest, endpoints, limits, counters, draining } of plugins) {
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
      [
        'requests',
        `running ${counters.running}, queued ${counters.queued}, done ${counters.done}, failed ${failed || 0}, cpu ${counters.cpu_ms} ms`,
      ],
    ];
    out.write(
      `${name}${version === null ? '' : ` ${version}`}\n${lines.map(([key, value]) => `  ${key?.padEnd(10)} ${value}\n`).join('')}`,
    );
  }
  if (plugins.length === 0) out.write('the server has no plugins\n');
  return 0;
}

/** `plugins reload`: 1 when one could not be loaded; its older version serves on. */
export async function pluginsReload(
  { runtimeDir, host, port, out }: ApplicationCommand,
  name: string | undefined,
): Promise<number> {
  const outcomes = await callControl(runtimeDir, 'plugins.reload', name === undefined ? {} : { name }, { host, port });
  for (const { name: plugin, outcome, detail } of outcomes) out.write(`${plugin}: ${outcome}: ${detail}\n`);
  return outcomes.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
}
