import { closeSync, openSync, statSync } from 'node:fs';
import { AanaApp, stopOnSignals } from '../app.ts';
import type { Config } from '../config/index.ts';
import { startControl } from '../control/index.ts';
import { delay } from '../core/abort.ts';
import { AanaError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { curlLine } from './curl-line.ts';

/** How long a ready server waits for the sample that its curl line names. */
const SAMPLE_WAIT_MS = 5000;

/** `serve`: the deployments of the configuration and the plugins, until a signal. */
export async function serve(config: Config, folders: readonly string[], log: Logger, out: { write(text: string): unknown }): Promise<number> {
  for (const path of config.media.allow_paths) {
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw new AanaError('ConfigError', 'invalid-input', `media.allow_paths: there is no folder ${path}`);
  }
  const app = new AanaApp({ config, log });
  for (const [name, options] of Object.entries(config.deployments)) app.registerDeployment(name, structuredClone(options) as Parameters<AanaApp['registerDeployment']>[1]);
  app.registerPlugins(...config.plugins, ...folders);
  await app.connect();
  let endControl: (() => Promise<void>) | undefined;
  const onHangUp = (): void => {
    if (isTerminalGone()) void app.shutdown();
    else void app.reloadPlugins().catch((error: unknown) => log.warn('plugins not reloaded', { error }));
  };
  const release = stopOnSignals(app);
  const stopping = new AbortController();
  void app.stopped.then(() => stopping.abort());
  try {
    endControl = await control(app, log);
    const sample = app.models.pullTool('speech-sample', { signal: stopping.signal }).catch(() => undefined);
    await app.deploy();
    process.on('SIGHUP', onHangUp);
    const url = app.url ?? '';
    const there = await Promise.race([sample, delay(SAMPLE_WAIT_MS, stopping.signal).catch(() => {})]);
    out.write(`API documentation: ${url}/docs\n`);
    const line = curlLine(app.endpoints, url, there ?? undefined);
    if (line) out.write(`${there ? 'Try it' : 'Try it with a video of yours'}:\n  ${line}\n`);
    await app.stopped;
    return 0;
  } catch (error) {
    await app.shutdown({ graceMs: 0 });
    if (error instanceof Error && error.name === 'ShuttingDown') return 130; // a signal during the start
    throw error;
  } finally {
    process.off('SIGHUP', onHangUp);
    await endControl?.();
    stopping.abort();
    release();
  }
}

/** Commands of this user reach the server; without that it serves all the same. */
async function control(app: AanaApp, log: Logger): Promise<(() => Promise<void>) | undefined> {
  const handlers = {
    'plugins.list': async () => app.plugins(),
    'plugins.reload': async ({ name }: { readonly name?: string | undefined }) => [...(await app.reloadPlugins(name))],
  };
  try {
    return await startControl({ dir: app.config.runtime_dir, url: app.url ?? '', handlers, log });
  } catch (error) {
    log.warn('commands cannot reach this server', { dir: app.config.runtime_dir, error });
    return undefined;
  }
}

/** A terminal that is closed sends the same signal as who wants a reload. */
function isTerminalGone(): boolean {
  if (!process.stdin.isTTY) return false;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return false;
  } catch {
    return true;
  }
}
