import { createRequire } from 'node:module';
import { isAbsolute, join } from 'node:path';
import { rolldown } from 'rolldown';
import { packageRoot } from '../../core/package-root.ts';
import { type PluginManifest, pluginLoadError } from '../manifest.ts';
import { absentInterface } from './guest-world.ts';

export interface PluginBundle {
  /** One ES module whose only imports are `aana:host/*`. */
  readonly code: string;
  /** Every file that went into it. */
  readonly files: readonly string[];
}

/**
 * Bundles a plugin's entry. `aana-host/plugin` is always this package's own, so that guest and host agree; `zod` is the plugin's own
 * where it has one, else this package's. A plugin folder therefore needs no `node_modules`.
 */
export async function bundlePlugin({ name, entry, capabilities }: PluginManifest): Promise<PluginBundle> {
  const require = createRequire(import.meta.url);
  const sdk = join(packageRoot, 'dist', 'host', 'sdk', 'index.js');
  try {
    await using build = await rolldown({
      input: entry,
      platform: 'neutral',
      external: (source) => source.startsWith('aana:host/') && absentInterface(source, capabilities) === undefined,
      logLevel: 'silent',
      plugins: [
        {
          name: 'aana-plugin',
          async resolveId(source, importer, options) {
            if (source === 'aana-host/plugin') return sdk;
            if (absentInterface(source, capabilities) !== undefined) return source;
            if (!/^zod(\/|$)/.test(source)) return null;
            const found = await this.resolve(source, importer, { ...options, skipSelf: true });
            return found ?? esmOf(require.resolve(source));
          },
          load: (source) => absentInterface(source, capabilities) ?? null,
        },
      ],
    });
    const { output } = await build.generate({ format: 'esm', minify: false, keepNames: true, codeSplitting: false });
    const [chunk] = output;
    const foreign = chunk.imports.filter((specifier) => !specifier.startsWith('aana:host/'));
    if (foreign.length > 0) throw new Error(`it imports ${foreign.join(', ')}, which a plugin cannot use`);
    if (!chunk.exports.includes('endpoint')) throw new Error("it does not export 'endpoint'");
    return { code: chunk.code, files: Object.keys(chunk.modules).filter((file) => isAbsolute(file)) };
  } catch (cause) {
    throw pluginLoadError(name, `cannot be bundled: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

/** zod's packages name a CommonJS file for `require` and the same file as an ES module beside it. */
const esmOf = (path: string): string => path.replace(/\.cjs$/, '.js');
