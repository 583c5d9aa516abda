import { readFile } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { packageRoot } from '../../../base/core/package-root.ts';
import { type PluginManifest, pluginLoadError } from '../set/manifest.ts';
import { loadBuildTools } from './build-tools.ts';
import type { DefinedEndpoints } from './endpoint-facts.ts';
import { absentInterface, absentMembers, isAbsentMember } from './guest-world.ts';
import { loadingCode } from './loading-code.ts';
import { lowerAsync } from './lower-async.ts';
import { type BundleMap, SourcePositions } from './source-positions.ts';
import { PluginFiles, PURE_FOLDERS } from './plugin-files.ts';
import { insteadOfModule, WebGlobals } from './web-globals.ts';

export interface PluginBundle {
  /** One ES module whose only imports are `aana:host/*`. */
  readonly code: string;
  /** The map from lines of `code` to lines of the sources. */
  readonly positions: SourcePositions;
  /** The position where its top level first waits for a promise, if it does. */
  readonly waitsAt: string | undefined;
  /**
   * The plugin's files that were read, also those of which the bundle has only a constant, and those of packages that
   * have code in the bundle.
   */
  readonly files: readonly string[];
}

/** The module that is bundled: what must run first, and the entry. */
const WHOLE = '\0aana-plugin';
const ABSENT_MEMBERS = '\0aana-absent-members';

/** Which files of a package are bundled: those for workers and browsers, which need nothing of Node. */
const webPackages = {
  conditionNames: ['worker', 'browser', 'module'], // and `import` or `require`, and `default`
  mainFields: ['browser', 'module', 'main'],
  aliasFields: [['browser']],
};

const isPure = (file: string): boolean => PURE_FOLDERS.some((folder) => file.startsWith(`${folder}${sep}`));

/**
 * Bundles a plugin's entry. `aana-host/plugin` always comes from this package, so that guest and host agree. `zod`
 * comes from the plugin where it has one, otherwise from this package. A plugin folder therefore needs no
 * `node_modules`. Code that cannot work in the sandbox fails here, with the position and a replacement. The bundler is
 * in the `node_modules` of `tools`. Calls of `defineEndpoint` become those of `defined`.
 */
export async function bundlePlugin(
  { name, dir, entry, capabilities }: PluginManifest,
  tools: string = packageRoot,
  defined?: DefinedEndpoints,
): Promise<PluginBundle> {
  const { rolldown, parseAst, transformSync } = await loadBuildTools(tools);
  const require = createRequire(import.meta.url);
  const sdkFolder = join(packageRoot, 'bundle', 'host', 'endpoints', 'sdk');
  const sdk = join(sdkFolder, 'index.js');
  const members = join(sdkFolder, 'capabilities', 'capabilities.js');
  const globals = new WebGlobals(capabilities);
  const files = new PluginFiles(dir);
  const accepted = new Set<string>();
  const own = new Set<string>();
  /** The reason why the bundler was stopped: the first file that may not be bundled. */
  let outside: Error | undefined;
  const unusable: { readonly source: string; readonly importer: string }[] = [];
  try {
    await using build = await rolldown({
      input: WHOLE,
      cwd: dir,
      platform: 'neutral',
      external: (source) => source.startsWith('aana:host/') && absentInterface(source, capabilities) === undefined,
      resolve: webPackages,
      logLevel: 'silent',
      transform: { inject: globals.inject },
      experimental: { nativeMagicString: true },
      plugins: [
        {
          name: 'aana-plugin',
          async resolveId(source, importer, options) {
            if (source === 'aana-host/plugin') return sdk;
            if (importer === undefined || importer === WHOLE) return source;
            if (absentInterface(source, capabilities) !== undefined) return source;
            if (importer === members && isAbsentMember(source, capabilities)) return ABSENT_MEMBERS;
            const own = defined?.resolve(source) ?? globals.resolve(source, importer);
            if (own !== undefined) return { id: own, moduleSideEffects: false };
            // Reported below if it is still in the bundle.
            if (options.kind === 'dynamic-import' && !isBuiltin(source)) return { id: source, external: true };
            const found = await this.resolve(source, importer, { ...options, skipSelf: true });
            if (found && !found.external && isAbsolute(found.id)) {
              if (await files.has(found.id, source)) accepted.add(found.id);
              else
                throw (outside ??= new Error(`${await positionOfImport(dir, importer, source)}: ${outsideOf(source)}`));
            }
            if (found && (source === 'whatwg-url' || isPure(found.id))) return { ...found, moduleSideEffects: false };
            if (isBuiltin(source) && (found === null || found.external)) unusable.push({ source, importer });
            else if (found === null && /^zod(\/|$)/.test(source)) return esmOf(require.resolve(source));
            else if (found === null && /^[\w@]/.test(source) && !source.startsWith('aana:'))
              unusable.push({ source, importer });
            else return found;
            return { id: source, external: true };
          },
          async load(id) {
            if (id === WHOLE) {
              const first = ['promises', 'locales'].map((file) => join(sdkFolder, 'guest', 'web', `${file}.js`));
              const imports = first.map((file) => `import ${JSON.stringify(file)};\n`).join('');
              const code = `${imports}export * from ${JSON.stringify(entry)};`;
              return { code, moduleType: 'js', moduleSideEffects: true };
            }
            if (id === ABSENT_MEMBERS) {
              const code = absentMembers(parseAst(await readFile(members, 'utf8')));
              return { code, moduleType: 'js', moduleSideEffects: false };
            }
            const code = globals.load(id) ?? defined?.load(id) ?? absentInterface(id, capabilities);
            if (code !== undefined) return { code, moduleType: 'js' };
            if (isAbsolute(id) && !accepted.has(id) && !(await files.has(id)))
              throw (outside ??= new Error(`${relative(dir, entry)}: ${outsideOf(nameFrom(dir, id))}`));
            if (isAbsolute(id) && (await files.isOwn(id))) own.add(id);
            return null;
          },
          transform(code, id, meta) {
            const changed = defined?.transform(code, id, meta);
            return changed ? { code: changed } : null;
          },
        },
      ],
    });
    const { output } = await build.generate({
      format: 'esm',
      minify: false,
      keepNames: true,
      comments: false, // QuickJS keeps the sources of all functions in the memory with which each invocation begins
      codeSplitting: false,
      sourcemap: true,
      file: join(dir, 'bundle.js'),
    });
    const [chunk] = output;
    for (const { source, importer } of unusable) {
      const why = isBuiltin(source)
        ? `"${source}" is a module of Node, which a plugin cannot use; ${insteadOfModule(source)}`
        : `Could not resolve '${source}': install it where the plugin is`;
      throw new Error(`${await positionOfImport(dir, importer, source)}: ${why}`);
    }
    const positions = new SourcePositions(namedFrom(dir, JSON.parse(chunk.map?.toString() ?? '{}')));
    const code = globals.withErrors(chunk.code);
    const positionOf = (offset: number): string => positions.at(...lineAndColumn(code, offset));
    const loading = loadingCode(parseAst(code));
    const uses = [
      ...globals
        .uses(code)
        .map(({ global, instead, offset }) => `${positionOf(offset)}: a plugin has no ${global}; ${instead}`),
      ...loading
        .filter(({ kind }) => kind === 'for await' || kind === 'await using')
        .map(({ kind, offset }) => `${positionOf(offset)}: "${kind}" stands at the top level: put it into a function`),
      ...loading
        .filter(({ kind }) => kind === 'import()' || kind === 'require()')
        .map(
          ({ kind, offset }) =>
            `${positionOf(offset)}: a plugin has no ${kind}; everything is part of the component: import what it ` +
            `needs at the top of the file`,
        ),
    ];
    if (uses.length > 0) throw new Error(uses.join('\n'));
    const waits = loading.find(({ kind }) => kind === 'await');
    const foreign = chunk.imports.filter((specifier) => !specifier.startsWith('aana:host/'));
    if (foreign.length > 0) throw new Error(`it imports ${foreign.join(', ')}, which a plugin cannot use`);
    if (!chunk.exports.includes('endpoint'))
      throw new Error(
        `${relative(dir, entry)} does not export 'endpoint': export const endpoint = definePlugin([...])`,
      );
    const lowered = lowerAsync(transformSync, { code, map: positions.map, loading });
    return {
      code: lowered.code,
      positions: new SourcePositions(lowered.map),
      waitsAt: waits && positionOf(waits.offset),
      files: [...new Set([...Object.keys(chunk.modules).filter((file) => isAbsolute(file)), ...own])],
    };
  } catch (cause) {
    throw pluginLoadError(name, `cannot be bundled: ${messageFrom(dir, outside ?? cause)}`, cause);
  }
}

const outsideOf = (source: string): string =>
  `'${source}' lies outside of the plugin's folder, or leads there by a link: copy it into the folder, or install ` +
  `it as a package`;

/** Returns the bundler's errors, one line each, with positions in the sources. */
function messageFrom(dir: string, cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { errors } = cause as { errors?: readonly BundlerError[] };
  if (!errors || errors.length === 0) return cause.message;
  return errors
    .map(({ message, text, loc, frame }) => {
      const what = (message ?? text ?? '').replace(/^\[\w+\] /, '').split('\n')[0]!;
      if (!loc?.file) return what;
      return `${nameFrom(dir, loc.file)}:${loc.line}:${loc.column + 1}: ${what}${frame ? `\n${frame}` : ''}`;
    })
    .join('\n');
}

interface BundlerError {
  readonly message?: string;
  /** Of esbuild. */
  readonly text?: string;
  readonly loc?: { readonly file?: string; readonly line: number; readonly column: number };
  readonly frame?: string;
}

/**
 * Returns the map with the names of sources that an author knows: relative to the plugin's folder, or to the package of
 * the file.
 */
function namedFrom(dir: string, map: BundleMap): BundleMap {
  const { sourcesContent: _, ...rest } = { ...map, sourcesContent: undefined };
  return { ...rest, sources: map.sources.map((source) => nameFrom(dir, resolve(dir, source))) };
}

function nameFrom(dir: string, file: string): string {
  const [, inPackage] = /.*[\\/]node_modules[\\/](.+)$/.exec(file) ?? [];
  const name =
    inPackage ??
    (file.startsWith(`${packageRoot}bundle`) ? `aana-host/${relative(packageRoot, file)}` : relative(dir, file));
  return name.split(sep).join('/');
}

async function positionOfImport(dir: string, importer: string, source: string): Promise<string> {
  const lines = (await readFile(importer, 'utf8')).split('\n');
  const quoted = new RegExp(`(['"\`])${source.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\1`);
  const at = lines.findIndex((line) => quoted.test(line));
  return `${nameFrom(dir, importer)}${at < 0 ? '' : `:${at + 1}:${quoted.exec(lines[at]!)!.index + 1}`}`;
}

function lineAndColumn(code: string, offset: number): [line: number, column: number] {
  const before = code.slice(0, offset).split('\n');
  return [before.length, before.at(-1)!.length + 1];
}

/** Returns the ES module for a CommonJS file, because zod's packages have both beside each other. */
const esmOf = (path: string): string => path.replace(/\.cjs$/, '.js');
