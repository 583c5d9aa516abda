import type { AanaApp } from '../app.ts';
import { startControl } from '../control/index.ts';
import type { Logger } from '../core/logger.ts';

/** Commands of this user reach the application; without that it serves all the same. Gives what ends it. */
export async function openControl(app: AanaApp, log: Logger): Promise<() => Promise<void>> {
  const handlers = {
    'plugins.list': async () => app.plugins(),
    'plugins.reload': async ({ name }: { readonly name?: string | undefined }) => [...(await app.reloadPlugins(name))],
  };
  try {
    return await startControl({ dir: app.config.runtime_dir, url: app.url ?? '', handlers, log });
  } catch (error) {
    log.warn('commands cannot reach this application', { dir: app.config.runtime_dir, error });
    return async () => {};
  }
}
