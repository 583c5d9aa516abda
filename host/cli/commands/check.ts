import { childEnvironment, type Config } from '../../base/config/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import {
  buildPlugin,
  type Capability,
  capabilityDefinitions,
  limitsFrom,
  PluginHost,
  type PluginReport,
  type PluginRights,
  requireOwnName,
} from '../../endpoints/plugins/index.ts';
import { buildSandbox } from '../../setup/native-build/index.ts';
import { portsOfNobody } from './invoke/ports-of-nobody.ts';
import { settingLines } from './setting-lines.ts';

/**
 * The command `check`. Prints what plugins import, ask for and would get, and runs none of them. Returns 1 when one
 * would not be loaded.
 */
export async function check(
  config: Config,
  sources: readonly string[],
  log: Logger,
  out: { write(text: string): unknown },
  signal: AbortSignal,
): Promise<number> {
  const host = new PluginHost({
    ports: { ...portsOfNobody, log },
    cacheDir: config.cache_dir,
    sandbox: () => buildSandbox({ cacheDir: config.cache_dir, log, signal }),
    log,
    limits: limitsFrom(config.plugin_limits),
    grants: config.plugin_grants,
    settings: config.plugin_settings,
    env: childEnvironment(config),
    confinement: config.plugin_confinement,
  });
  let exitCode = 0;
  try {
    for (const source of sources) {
      try {
        await requireOwnName(source, sources);
        await buildPlugin(source, { log, cacheDir: config.cache_dir, limits: config.plugin_builds, signal });
        const report = await host.inspect(source);
        out.write(reportText(report));
        await report.tryStart();
        out.write('  would be started; the server then accepts or refuses the endpoints that it describes\n');
      } catch (error) {
        signal.throwIfAborted();
        exitCode = 1;
        out.write(`  would not be loaded: ${error instanceof Error ? error.message : String(error)}\n`);
      }
    }
  } finally {
    await host.close();
  }
  return exitCode;
}

function reportText({ name, version, component, digest, imports, asks, gets, limits, settings }: PluginReport): string {
  const all = ({ capabilities, deployments, hosts }: PluginRights): string => {
    const named = (each: Capability): string =>
      each === 'http'
        ? `http (${hosts.join(', ') || 'no host'})`
        : capabilityDefinitions[each].callsDeployments
          ? `${each} (${deployments.join(', ') || 'no deployment'})`
          : each;
    return capabilities.map(named).join(', ') || 'nothing';
  };
  const wasi = imports.filter((one) => one.startsWith('wasi:')).length;
  const lines = [
    ['component', component],
    ['sha256', digest],
    [
      'imports',
      [
        ...imports.filter((one) => !one.startsWith('wasi:')),
        ...(wasi > 0 ? [`${wasi} interfaces of WASI, which are empty or denied`] : []),
      ].join(', ') || 'nothing',
    ],
    ['asks for', all(asks)],
    ['would get', all(gets)],
    [
      'limits',
      Object.entries(limits)
        .map((pair) => pair.join(' '))
        .join(', '),
    ],
    ...settingLines([...settings]),
  ];
  return `plugin ${name} ${version}\n${lines.map(([key, value]) => `  ${key?.padEnd(12)} ${value}\n`).join('')}`;
}
