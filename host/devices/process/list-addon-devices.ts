// Runs in a short-lived process: prints the devices that the native addon can use, and those of NVIDIA's driver, as
// JSON. The host never loads the addon.
import { packageRoot } from '../../core/package-root.ts';
import { loadNative, nativeAddonPath } from '../../../native/lib/index.ts';

const native = loadNative({ addonPath: nativeAddonPath(packageRoot) });
process.stdout.write(`${JSON.stringify({ devices: native.devices(), driver: native.driverGpus() })}\n`);
