import { readFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import * as z from 'zod';
import { AanaError } from '../core/errors.ts';

const inside = z.string().refine((path) => !isAbsolute(path) && !relative('.', path).startsWith('..'), 'must be a path inside the plugin folder');

const Manifest = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, 'must be lower-case words joined by "-"'),
  version: z.string().regex(/^\d+\.\d+\.\d+(-[\w.]+)?$/, 'must be a version such as "1.0.0"'),
  description: z.optional(z.string()),
  component: z.optional(inside),
  entry: z.optional(inside),
});

/** A plugin folder's `plugin.json`, with every path absolute. */
export interface PluginManifest {
  /** The folder it was read from. */
  readonly dir: string;
  readonly name: string;
  readonly version: string;
  readonly description: string | undefined;
  /** The component file, `dist/<name>.wasm` unless the manifest says otherwise; it may not be built yet. */
  readonly component: string;
  /** The source that the component is built from, `src/index.ts` unless the manifest says otherwise; plugins in other languages have none. */
  readonly entry: string;
}

/** Reads and checks `plugin.json`. Throws `PluginLoadError` with what is wrong with it. */
export async function readManifest(dir: string): Promise<PluginManifest> {
  const root = resolve(dir);
  const path = join(root, 'plugin.json');
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw pluginLoadError(root, 'has no readable plugin.json', cause);
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw pluginLoadError(root, `has a plugin.json that is not JSON (${(cause as Error).message})`, cause);
  }
  const parsed = Manifest.safeParse(json);
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'plugin.json'}: ${issue.message}`).join('; ');
    throw pluginLoadError(root, `has an invalid plugin.json (${issues})`);
  }
  const { name, version, description, component = `dist/${name}.wasm`, entry = 'src/index.ts' } = parsed.data;
  return { dir: root, name, version, description, component: join(root, component), entry: join(root, entry) };
}

/** Why a plugin cannot be used: "plugin <its name or folder> <reason>". */
export function pluginLoadError(plugin: string, reason: string, cause?: unknown): AanaError {
  return new AanaError('PluginLoadError', 'internal', `plugin ${plugin} ${reason}`, { data: { plugin }, cause });
}
