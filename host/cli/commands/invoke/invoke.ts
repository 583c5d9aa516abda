import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { raceAbort } from '../../../base/core/abort.ts';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { LocalApplication } from '../../../apis/control/index.ts';
import { childEnvironment, type Config } from '../../../base/config/index.ts';
import { AanaError, fail, toErrorRecord } from '../../../base/core/errors.ts';
import { newId } from '../../../base/core/ids.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { buildPlugin, limitsFrom, PluginHost, readManifest, requireOwnName } from '../../../endpoints/plugins/index.ts';
import {
  invoke,
  pluginEndpoints,
  type ServedEndpoint,
  textAnswerOf,
  type UploadedFile,
} from '../../../endpoints/registry/index.ts';
import { buildSandbox } from '../../../setup/native-build/index.ts';
import { portsOfNobody } from './ports-of-nobody.ts';

export interface InvokeOptions {
  readonly config: Config;
  /** The folder or the component file of the plugin. */
  readonly source: string;
  /** The name of the endpoint, or its path. */
  readonly endpoint: string;
  /** JSON, `@<file>` or `-` for the standard input. */
  readonly input: string;
  /** Files as `<field>=<path>`. */
  readonly files: readonly string[];
  /** The running application whose deployments are called, if several run. */
  readonly application: LocalApplication;
  /** Gets what the host says. */
  readonly log: Logger;
  /** Gets what the plugin says. */
  readonly pluginLog: Logger;
  readonly stdin: Readable;
  readonly out: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

/**
 * The command `invoke`. Runs one endpoint of a plugin as `serve` would, without a server, and prints its answer: JSON,
 * a text as it is, or a line of JSON for each streamed value. Throws the error that a client would get.
 */
export async function invokeEndpoint(options: InvokeOptions): Promise<void> {
  const { config, source, log, signal } = options;
  const input = parsed(await textOf(options));
  const files = await filesOf(options.files);
  const { cache_dir: cacheDir } = config;
  await requireOwnName(source, [source]);
  await buildPlugin(source, { log, cacheDir, limits: config.plugin_builds, signal });
  const { capabilities } = await readManifest(source);
  // What a plugin without capabilities does not get is not even loaded.
  await using application =
    capabilities.length === 0
      ? undefined
      : new (await import('./invoked-application.ts')).InvokedApplication({
          config,
          log,
          signal,
          at: options.application,
        });
  const host = new PluginHost({
    ports: { ...((await application?.ports(capabilities)) ?? portsOfNobody), log: options.pluginLog },
    ...{ cacheDir, log, isFast: true },
    sandbox: () => buildSandbox({ cacheDir, log, signal }),
    limits: limitsFrom(config.plugin_limits),
    grants: config.plugin_grants,
    settings: config.plugin_settings,
    env: childEnvironment(config),
    confinement: config.plugin_confinement,
  });
  try {
    const endpoint = chosen(options, pluginEndpoints(await host.load(source)));
    await run(endpoint, input, files, options);
  } finally {
    await host.close();
  }
}

async function run(
  endpoint: ServedEndpoint,
  input: unknown,
  files: ReadonlyMap<string, UploadedFile>,
  { config, out, signal }: InvokeOptions,
): Promise<void> {
  let isReaderGone = false; // such as `| head`, which has enough
  const print = (line: string): Promise<void> =>
    new Promise((resolve, reject) =>
      out.write(line, (error) => {
        isReaderGone ||= (error as NodeJS.ErrnoException | null | undefined)?.code === 'EPIPE';
        if (error) reject(error);
        else resolve();
      }),
    );
  try {
    const output = await invoke(endpoint, input, {
      ...{ requestId: newId(), files, signal, timeoutMs: config.limits.invocation_timeout_s * 1000 },
      write: (value) => print(`${onOneLine(value)}\n`),
    });
    if (!endpoint.streaming) await print(textAnswerOf(endpoint, output)?.text ?? `${output}\n`);
  } catch (error) {
    if (!isReaderGone) throw asAnswered(error);
  }
}

async function textOf({ input, stdin, signal }: InvokeOptions): Promise<string> {
  if (input === '-') return raceAbort(text(stdin), signal);
  if (!input.startsWith('@')) return input;
  return readFile(input.slice(1), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw fail('InvalidInput', `the input cannot be read from ${input.slice(1)}: ${error.code ?? error.message}`);
  });
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch (error) {
    throw fail('InvalidInput', `the input is not JSON: ${(error as Error).message}`);
  }
}

async function filesOf(given: readonly string[]): Promise<Map<string, UploadedFile>> {
  const files = new Map<string, UploadedFile>();
  for (const one of given) {
    const at = one.indexOf('=');
    const [field, path] = [one.slice(0, at), one.slice(at + 1)];
    if (at < 1 || path === '') throw fail('InvalidInput', `--file ${one}: write <field>=<path>`);
    const found = await stat(path).catch(() => undefined);
    if (!found?.isFile()) throw fail('InvalidInput', `--file ${one}: there is no file ${path}`);
    if (files.has(field)) throw fail('InvalidInput', `--file ${one}: there is another file for ${field}`);
    files.set(field, { path: resolve(path), filename: basename(path), bytes: found.size });
  }
  return files;
}

function chosen({ source, endpoint: wanted }: InvokeOptions, endpoints: readonly ServedEndpoint[]): ServedEndpoint {
  const found = endpoints.find(({ name, path }) => name === wanted || path === wanted);
  if (found) return found;
  const known = endpoints.map(({ name }) => name).join(', ');
  throw fail('InvalidInput', `${source} has no endpoint ${wanted}; it has: ${known}`);
}

/** Returns JSON without line ends between its parts. */
const onOneLine = (json: string): string => (/[\r\n]/.test(json) ? JSON.stringify(JSON.parse(json)) : json);

/** Returns the error with the name and the data that a client gets in its message. */
function asAnswered(error: unknown): AanaError {
  const { name, kind, message, data } = toErrorRecord(error);
  const facts = JSON.stringify(data) ?? '{}';
  return new AanaError(name, kind, `${name}: ${message}${facts === '{}' ? '' : ` ${facts}`}`, { cause: error, data });
}
