import type { Logger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { loadNative, nativeAddonPath, type NativeBinding, type NativeFault } from '../../../native/lib/index.ts';

/**
 * Loads the addon and writes its log lines to `log`. The engines' information about models that they load is logged as
 * debug. Call it once per process.
 */
export function openNative(log: Logger): NativeBinding {
  const native = loadNative({ addonPath: nativeAddonPath(packageRoot) });
  native.setLogger((level, message) =>
    log[level === 'info' ? 'debug' : level](message.trimEnd(), { engine: 'native' }),
  );
  return native;
}

export interface NativeFailure {
  readonly code: string;
  readonly fault: NativeFault;
  readonly message: string;
}

/** Returns the code, the fault and the message of an error that the addon threw. */
export function nativeFailure(thrown: unknown): NativeFailure {
  if (!(thrown instanceof Error)) return { code: 'failed', fault: 'deployment', message: String(thrown) };
  const { code = 'failed', fault = 'deployment', message } = thrown as Error & Partial<NativeFailure>;
  return { code, fault, message };
}
