import type { Logger } from '../core/log/logger.ts';
import { packageRoot } from '../core/package-root.ts';
import { loadNative, nativeAddonPath, type NativeBinding, type NativeFault } from '../../native/lib/index.ts';

/**
 * The addon, its log lines in `log`; what the engines tell of each model they load is for debugging. Once per process.
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

/** The name, the fault and the text of whatever the addon threw. */
export function nativeFailure(thrown: unknown): NativeFailure {
  if (!(thrown instanceof Error)) return { code: 'failed', fault: 'deployment', message: String(thrown) };
  const { code = 'failed', fault = 'deployment', message } = thrown as Error & Partial<NativeFailure>;
  return { code, fault, message };
}
