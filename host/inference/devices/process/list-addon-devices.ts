// Runs in a short-lived process, because the host never loads the addon. Prints the devices that the addon can use, and
// those of NVIDIA's driver, as JSON.
import { packageRoot } from '../../../base/core/package-root.ts';
import { loadNative, nativeAddonPath } from '../../../../native/lib/index.ts';

const native = loadNative({ addonPath: nativeAddonPath(packageRoot) });
process.stdout.write(`${JSON.stringify({ devices: native.devices(), driver: native.driverGpus() })}\n`);
