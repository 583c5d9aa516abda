// Main module of a child process that writes a GGUF model with another type of weights, because ggml ends its process
// on internal errors. Arguments: source, target, type, threads.
import { delay } from '../../../base/core/abort.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { loadNative, nativeAddonPath } from '../../../../native/lib/index.ts';

/** Time in which lines of the log arrive, which say why a model cannot be written. */
const LOG_MS = 200;

const [source = '', target = '', type = '', threads = '1'] = process.argv.slice(2);
const native = loadNative({ addonPath: nativeAddonPath(packageRoot) });
native.setLogger((level, message) => {
  if (level === 'error') process.stderr.write(`${message.trim()}\n`);
});
try {
  native.quantizeModel(source, target, type, Number(threads));
} catch (error) {
  await delay(LOG_MS);
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
