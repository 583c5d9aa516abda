import { createHash } from 'node:crypto';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AanaError } from '../../../base/core/errors.ts';
import { randomSuffix } from '../../../base/core/ids.ts';
import { runContained } from '../../../base/processes/index.ts';
import { capabilityNames } from '../capabilities/catalogue.ts';
import { firstCauses, markUsed, offeredTypes, prepareFolder, SandboxProcess, tidyFolder } from '../sandbox/index.ts';
import { type ComponentOptions, endpoint, output } from '../set/component.ts';
import { pluginLoadError } from '../set/manifest.ts';
import { type PluginCode, startMs } from '../set/plugin-code.ts';
import { capabilityOf } from './interface.ts';
import { extismCommand } from './process/command.ts';

const coreHeader = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
const maxDescriptionBytes = 8 * 1024 * 1024;
/** Bytes of memory for compiling. No guest runs then. */
const compileBytes = 2 * 1024 * 1024 * 1024;

/** What a module has, as its process describes it. */
interface Described {
  readonly imports: readonly WebAssembly.ModuleImportDescriptor[];
  readonly exports: readonly { readonly name: string; readonly kind: string }[];
}

/**
 * Reads the core module of an Extism plugin and checks its imports and exports. V8 compiles it in a process of its own.
 * A copy is kept in `<cacheDir>/plugins`, because the file may change while its process is started again. Throws
 * `PluginLoadError`.
 */
export async function readExtismModule(
  file: string,
  { plugin, cacheDir, sandbox, signal }: ComponentOptions,
): Promise<PluginCode> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw pluginLoadError(plugin, `has no module at ${file}; build it first`, cause);
  });
  if (!coreHeader.every((byte, n) => bytes[n] === byte))
    throw pluginLoadError(
      plugin,
      `has a module (${file}) that is not a WebAssembly core module, which an Extism plugin must be`,
    );
  const digest = createHash('sha256').update(bytes).digest('hex');
  const folder = join(cacheDir, 'plugins');
  await prepareFolder(plugin, folder);
  const keep = (): Promise<string> => kept(folder, `${digest}.wasm`, bytes);
  const { program } = await sandbox();
  const { imports, exports } = await describe(program, plugin, await keep(), signal);
  const refused = imports.filter((each) => capabilityOf(each) === 'unknown').map(nameOf);
  if (refused.length > 0)
    throw pluginLoadError(plugin, `imports ${refused.join(', ')}, which this host does not offer to Extism plugins`);
  if (!exports.some(({ name, kind }) => name === 'describe' && kind === 'function'))
    throw pluginLoadError(plugin, 'does not export the function "describe"');
  return {
    digest,
    imports: imports.map(nameOf),
    uses: capabilityNames.filter((capability) => imports.some((each) => capabilityOf(each) === capability)),
    concurrency: (limits) => limits.maxThreads,
    start: async ({ limits: { memoryBytes, totalMemoryBytes: totalBytes }, slots, signal: ending }) => {
      await prepareFolder(plugin, folder); // others may have been let in since
      const code = await keep(); // the copy may have been removed
      return SandboxProcess.start({
        command: extismCommand({ program, memoryBytes, totalBytes, slots }),
        ...{ plugin, code, isFast: true, endpoint, output, types: offeredTypes(), signal: ending },
        limits: { threads: 1, slots, warmSlots: 0, warmBytes: 0, memoryBytes, totalBytes, startMs },
      });
    },
  };
}

/** Returns the path of a copy with these bytes. */
async function kept(folder: string, name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  const found = await readFile(path).catch(() => undefined);
  if (found?.equals(bytes)) {
    await markUsed(path);
    return path;
  }
  await tidyFolder(folder);
  const temporary = join(folder, `.${name}.${randomSuffix()}`);
  await writeFile(temporary, bytes, { flag: 'wx', mode: 0o600 });
  await rename(temporary, path);
  return path;
}

async function describe(
  program: string,
  plugin: string,
  code: string,
  signal: AbortSignal | undefined,
): Promise<Described> {
  const { file, args } = extismCommand({ program, memoryBytes: compileBytes, totalBytes: compileBytes, slots: 0 });
  const module = await open(code);
  try {
    const ended = await runContained(file, [...args, 'describe'], {
      ...{ env: {}, signal, stdin: module.fd, maxStdoutBytes: maxDescriptionBytes },
      ...{ stderrTailBytes: 4096, nice: 10, timeoutMs: startMs },
    });
    if (ended.code === 0) return JSON.parse(ended.stdout.toString()) as Described;
    const said = firstCauses(ended.stderr) || `its process ended with ${ended.signal ?? ended.code}`;
    throw pluginLoadError(plugin, `cannot be compiled: ${said}`);
  } catch (cause) {
    if (!(cause instanceof AanaError) || cause.name === 'PluginLoadError') throw cause;
    throw pluginLoadError(plugin, `cannot be compiled: ${cause.message}`, cause);
  } finally {
    await module.close();
  }
}

const nameOf = ({ module, name }: WebAssembly.ModuleImportDescriptor): string => `${module} ${name}`;
