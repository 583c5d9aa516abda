// Runs in a short-lived process, because the host never loads the addon. Prints the devices that the addon can use,
// those of NVIDIA's driver, and the backends for GPUs, as JSON.
import { packageRoot } from '../../../base/core/package-root.ts';
import { loadNative, nativeAddonPath } from '../../../../native/lib/index.ts';

const native = loadNative({ addonPath: nativeAddonPath(packageRoot) });
const found = { devices: native.devices(), driver: native.driverGpus(), backends: native.gpuBackends() };
process.stdout.write(`${JSON.stringify(found)}\n`);
