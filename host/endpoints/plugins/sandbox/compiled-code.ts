import { createHash, type Hash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { AanaError } from '../../../base/core/errors.ts';
import { randomSuffix } from '../../../base/core/ids.ts';
import { runContained, type RunContainedResult } from '../../../base/processes/index.ts';
import { pluginLoadError } from '../set/manifest.ts';
import { codePath, markUsed, prepareFolder, tidyFolder } from './code-folder.ts';
import { type ComponentTypes, readDescription } from './component-types.ts';

/** The program that compiles and runs components, as `buildSandbox` returns it. */
export interface SandboxProgram {
  readonly program: string;
  readonly libraryVersion: string;
}

export interface CompileOptions {
  readonly sandbox: SandboxProgram;
  /** The name of the plugin, for errors. */
  readonly plugin: string;
  /** Path of the component. */
  readonly component: string;
  /**
   * Whether code is made in a fifth of the time that runs half as fast, for components that change often. Default: no.
   */
  readonly isFast?: boolean | undefined;
  readonly limits?: Partial<CompileLimits> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Limits of one compilation. */
export interface CompileLimits {
  readonly componentBytes: number;
  /** Bytes that the process may take. */
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
}

export const defaultCompileLimits: CompileLimits = {
  componentBytes: 64 * 1024 * 1024,
  memoryBytes: 2 * 1024 * 1024 * 1024,
  cpuSeconds: 120,
};

export interface CompiledComponent {
  /** SHA-256 of the component, hexadecimal. */
  readonly digest: string;
  /** Path of the code, which only the sandbox that made it can load. */
  readonly code: string;
  /** Whether it was made fast. Only a process with the same choice can load it. */
  readonly isFast: boolean;
  readonly types: ComponentTypes;
}

/** What is kept beside the code. */
interface Kept {
  readonly sha256: string;
  /** The description of the component, in Base64. */
  readonly description: string;
}

/** Seconds that the compiler may take for each second of computing that it may take, because others compute, too. */
const secondsPerCpuSecond = 5;
const maxDescriptionBytes = 8 * 1024 * 1024;
const maxCodeBytes = 2 * 1024 * 1024 * 1024;

/**
 * Returns the types of a component. Nothing of it runs. Throws `PluginLoadError` for a component that cannot be
 * compiled.
 */
export async function describeComponent(options: CompileOptions): Promise<ComponentTypes> {
  const component = await openComponent(options);
  try {
    return readDescription(await runCompiler(options, 'describe', component, []));
  } finally {
    await component.close();
  }
}

/**
 * Returns the compiled code of a component, from `folder` if it was compiled before. Only this user can write to the
 * folder, because code is loaded without further checks. Throws `PluginLoadError`.
 */
export async function compileComponent(options: CompileOptions, folder: string): Promise<CompiledComponent> {
  const { plugin, isFast = false } = options;
  await prepareFolder(plugin, folder);
  const bytes = await readComponent(options);
  const digest = createHash('sha256').update(bytes).digest('hex');
  const key = await keyOf(options, digest);
  const kept = await keptCode(folder, key);
  if (kept) return { ...kept, digest, isFast };
  await tidyFolder(folder);
  const temporary = join(folder, `.${key}.${randomSuffix()}`);
  const copy = `${temporary}.wasm`;
  try {
    // The file may change meanwhile, and its name in `folder` is that of these bytes.
    await writeFile(copy, bytes, { flag: 'wx', mode: 0o600 });
    const component = await open(copy);
    let description: Buffer;
    try {
      const file = await open(temporary, 'wx', 0o600);
      try {
        description = await runCompiler(options, 'compile', component, [file.fd]);
        await file.sync();
      } finally {
        await file.close();
      }
    } finally {
      await component.close();
    }
    const types = readDescription(description);
    const sha256 = (await hashFile(createHash('sha256'), temporary)).digest('hex');
    const code = codePath(folder, sha256);
    await rename(temporary, code);
    const text: Kept = { sha256, description: description.toString('base64') };
    await writeFile(temporary, JSON.stringify(text), { mode: 0o600, flush: true });
    await rename(temporary, join(folder, `${key}.json`));
    return { digest, code, isFast, types };
  } catch (cause) {
    const isFull = cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC';
    throw isFull
      ? pluginLoadError(plugin, `cannot be compiled: no space is left for its code in ${folder}`, cause)
      : cause;
  } finally {
    await rm(temporary, { force: true });
    await rm(copy, { force: true });
  }
}

/** Returns the name of what is kept for a component: of it, the program, the processor and the way of compiling. */
async function keyOf({ sandbox, isFast }: CompileOptions, digest: string): Promise<string> {
  const hash = createHash('sha256');
  // A machine that has moved to another one may have the same model with fewer instructions.
  const cpuInfo = await readFile('/proc/cpuinfo', 'utf8').catch(() => '');
  const processor = [process.arch, cpus()[0]?.model, /^(?:flags|Features)\s*:.*$/m.exec(cpuInfo)?.[0] ?? ''];
  hash.update(JSON.stringify([digest, sandbox.libraryVersion, ...processor, isFast ?? false]));
  await hashFile(hash, sandbox.program);
  return hash.digest('hex');
}

async function keptCode(folder: string, key: string): Promise<Pick<CompiledComponent, 'code' | 'types'> | undefined> {
  try {
    const known = join(folder, `${key}.json`);
    const { sha256, description } = JSON.parse(await readFile(known, 'utf8')) as Kept;
    const code = codePath(folder, sha256);
    await markUsed(known, code);
    if ((await hashFile(createHash('sha256'), code)).digest('hex') !== sha256) return undefined;
    return { code, types: readDescription(Buffer.from(description, 'base64')) };
  } catch {
    return undefined; // it was not compiled yet, or a file is damaged
  }
}

async function hashFile(hash: Hash, file: string): Promise<Hash> {
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash;
}

/** Runs the compiler on a component and returns its description. */
async function runCompiler(
  options: CompileOptions,
  mode: 'describe' | 'compile',
  component: FileHandle,
  descriptors: readonly number[],
): Promise<Buffer> {
  const { sandbox, plugin, isFast, signal } = options;
  const limits = limitsOf(options);
  const args = [
    mode,
    `fast=${Number(isFast ?? mode === 'describe')}`,
    `component-bytes=${limits.componentBytes}`,
    `compile-bytes=${limits.memoryBytes}`,
    `compile-seconds=${limits.cpuSeconds}`,
  ];
  const seconds = limits.cpuSeconds * secondsPerCpuSecond;
  const ended = await runContained(sandbox.program, args, {
    ...{ env: {}, signal, descriptors, stdin: component.fd, maxStdoutBytes: maxDescriptionBytes },
    ...{ stderrTailBytes: 4096, fileBytes: maxCodeBytes, nice: 10, timeoutMs: seconds * 1000 },
  }).catch((cause: unknown) => {
    const name = cause instanceof AanaError ? cause.name : undefined;
    if (name === 'ProcessTimeout')
      throw pluginLoadError(plugin, `cannot be compiled: it has not ended within ${seconds} s`, cause);
    if (name === 'ProcessOutputTooLarge')
      throw pluginLoadError(
        plugin,
        `has a component that cannot be used: its types have more than ${maxDescriptionBytes} bytes`,
        cause,
      );
    throw cause;
  });
  if (ended.code !== 0) throw refusal(plugin, ended, limits);
  return ended.stdout;
}

const limitsOf = (options: CompileOptions): CompileLimits => ({ ...defaultCompileLimits, ...options.limits });

/** Opens the component, if it is a file that is not too large. */
async function openComponent(options: CompileOptions): Promise<FileHandle> {
  const { plugin, component } = options;
  const { componentBytes } = limitsOf(options);
  // A pipe without a writer would block the open.
  const file = await open(component, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    const problem = isMissing
      ? `no component at ${component}; build it first`
      : `no component that can be read at ${component}`;
    throw pluginLoadError(plugin, `has ${problem}`, cause);
  });
  const found = await file.stat();
  const problem = !found.isFile()
    ? 'it is not a file'
    : found.size > componentBytes
      ? `it has more than ${componentBytes} bytes, which is the limit`
      : undefined;
  if (problem === undefined) return file;
  await file.close();
  throw pluginLoadError(plugin, `has a component that cannot be used: ${problem}`);
}

async function readComponent(options: CompileOptions): Promise<Buffer> {
  const file = await openComponent(options);
  try {
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function refusal(plugin: string, { code, signal, stderr }: RunContainedResult, limits: CompileLimits): AanaError {
  const said = stderr.trim();
  if (code === 2) return pluginLoadError(plugin, `has a component that cannot be used: ${firstCauses(said)}`);
  if (signal === 'SIGXCPU')
    return pluginLoadError(plugin, `cannot be compiled: it takes more than ${limits.cpuSeconds} s of computing`);
  if (/memory allocation|no memory is left/.test(said))
    return pluginLoadError(plugin, `cannot be compiled: it takes more than ${limits.memoryBytes} bytes of memory`);
  if (code === 3) return pluginLoadError(plugin, `cannot be compiled: ${said}`);
  return pluginLoadError(plugin, `cannot be compiled: its compiler ended with ${signal ?? code}: ${said.slice(-500)}`);
}

const maxCausesLength = 16 * 1024;

/** Returns an error of the library as one line: what failed, and its causes. Of a trap, only its causes. */
export function firstCauses(text: string): string {
  // Before it is split, because nobody has counted its lines.
  const start = text.slice(0, maxCausesLength);
  const causes = start.indexOf('Caused by:');
  const isTrap = causes > 0 && start.startsWith('error while executing at wasm backtrace:');
  return (isTrap ? start.slice(causes) : start)
    .split('\n')
    .map((line) => line.trim().replace(/^\d+: /, ''))
    .filter((line) => line !== '' && line !== 'Caused by:')
    .join(': ')
    .slice(0, 1000);
}
