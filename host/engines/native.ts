import type { Logger } from '../core/logger.ts';
import { packageRoot } from '../core/package-root.ts';
import { loadNative, nativeAddonPath, type NativeBinding } from '../../native/lib/index.ts';

/** The addon, its log lines in `log`; what the engines tell of each model they load is for debugging. Once per process. */
export function openNative(log: Logger): NativeBinding {
  const native = loadNative({ addonPath: nativeAddonPath(packageRoot) });
  native.setLogger((level, message) => log[level === 'info' ? 'debug' : level](message.trimEnd(), { engine: 'native' }));
  return native;
}

/** The name and text of whatever the addon threw. */
export function nativeFailure(thrown: unknown): { readonly code: string; readonly message: string } {
  if (!(thrown instanceof Error)) return { code: 'failed', message: String(thrown) };
  return { code: 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : 'failed', message: thrown.message };
}
