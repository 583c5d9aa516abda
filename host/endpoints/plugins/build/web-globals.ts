import { join } from 'node:path';
import { packageRoot } from '../../../base/core/package-root.ts';

const folder = join(packageRoot, 'bundle', 'host', 'endpoints', 'sdk', 'guest', 'web');

/**
 * Globals of the web that the interpreter lacks and the SDK provides. The file is bundled where a source names the
 * global.
 */
const provided: Readonly<Record<string, string>> = {
  URL: 'url',
  URLSearchParams: 'url',
  TextEncoder: 'encoding',
  TextDecoder: 'encoding',
  structuredClone: 'structured-clone',
  AbortController: 'abort',
  AbortSignal: 'abort',
  Event: 'abort',
  EventTarget: 'abort',
  crypto: 'crypto',
  setTimeout: 'timers',
  setInterval: 'timers',
  clearTimeout: 'timers',
  clearInterval: 'timers',
};

const noNetwork =
  'a plugin has no network of its own: open videos with ctx.video.open({ url }), call models with ' +
  'ctx.deployment(name), ask the hosts that plugin.json names with ctx.fetch';
const noLoop = 'use setTimeout or queueMicrotask';
const noStreams = 'a streaming endpoint sends values with ctx.write and ctx.forward, or is a generator';
const noPage = 'a plugin has no page and no browser: values come as parameters of the endpoint';
const noNode = 'a plugin has no Node: settings come as parameters of the endpoint, ctx gives the request, time and log';
const noBuffer = 'use Uint8Array, with TextEncoder and TextDecoder for text, btoa and atob for base64';
const noFiles =
  'a plugin has no file system: import what it needs, so that it is part of the component; what it keeps goes to ' +
  'ctx.storage';
const noThreads =
  'a plugin has one thread: call deployments, which compute in processes of their own, or helpers with ctx.runRemote';

/** Globals that a plugin cannot have, each with a replacement. */
const refused: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['fetch', 'XMLHttpRequest', 'WebSocket', 'EventSource', 'Request', 'Response', 'Headers'].map((name) => [
      name,
      noNetwork,
    ]),
  ),
  ...Object.fromEntries(['setImmediate', 'clearImmediate', 'requestAnimationFrame'].map((name) => [name, noLoop])),
  ...Object.fromEntries(['ReadableStream', 'WritableStream', 'TransformStream'].map((name) => [name, noStreams])),
  ...Object.fromEntries(
    ['window', 'document', 'localStorage', 'sessionStorage', 'indexedDB'].map((name) => [name, noPage]),
  ),
  ...Object.fromEntries(['process', 'global', 'Deno', 'Bun'].map((name) => [name, noNode])),
  ...Object.fromEntries(['Buffer', 'Blob', 'File', 'FormData'].map((name) => [name, noBuffer])),
  ...Object.fromEntries(['__dirname', '__filename'].map((name) => [name, noFiles])),
  ...Object.fromEntries(
    ['Worker', 'SharedWorker', 'MessageChannel', 'BroadcastChannel', 'Atomics', 'WebAssembly'].map((name) => [
      name,
      noThreads,
    ]),
  ),
  'crypto.subtle': 'crypto has getRandomValues and randomUUID here; bundle a library for hashes and ciphers',
  Intl: 'the interpreter has no locales: write numbers and dates by hand or with a library that brings its own',
};

/** Returns the replacement for a module of Node. */
export function insteadOfModule(name: string): string {
  switch (name.replace(/^node:/, '').split('/')[0]) {
    case 'fs':
    case 'path':
      return noFiles;
    case 'http':
    case 'https':
    case 'net':
    case 'dns':
    case 'tls':
      return noNetwork;
    case 'timers':
      return noLoop;
    case 'buffer':
      return noBuffer;
    case 'crypto':
      return 'use crypto.randomUUID, crypto.getRandomValues or ctx.random';
    case 'url':
      return 'URL and URLSearchParams are globals';
    case 'util':
      return 'TextEncoder, TextDecoder and structuredClone are globals';
    case 'worker_threads':
    case 'child_process':
    case 'cluster':
      return noThreads;
    default:
      return noNode;
  }
}

const PREFIX = 'aana-global:';
const STUB = '\0aana-absent-';

/**
 * Gives free names in the sources their meaning in the sandbox: a file of the SDK, or a stand-in that is `undefined`. A
 * stand-in has a unique name in the bundle, so that {@link WebGlobals.uses} finds it after unused code was removed.
 */
export class WebGlobals {
  /** The stand-ins, one for each global and file, because a file may check for a global before it uses it. */
  readonly #stubs: { readonly global: string; readonly variable: string }[] = [];

  /** For rolldown's `transform.inject`: maps free names to a module and its export. */
  readonly inject: Record<string, [string, string]> = {
    ...Object.fromEntries(
      Object.entries(provided).flatMap(([name]) =>
        ['', 'globalThis.', 'self.'].map((owner) => [
          `${owner}${name}`,
          [`${PREFIX}${name}`, name] as [string, string],
        ]),
      ),
    ),
    ...Object.fromEntries(
      Object.keys(refused).map((name) => [name, [`${PREFIX}${name}`, 'absent'] as [string, string]]),
    ),
    [['process', 'env', 'NODE_ENV'].join('.')]: [`${PREFIX}NODE_ENV`, 'NODE_ENV'],
  };

  resolve(source: string, importer: string): string | undefined {
    if (source === 'tr46' && /[\\/]whatwg-url[\\/]/.test(importer)) return join(folder, 'domain.js');
    if (!source.startsWith(PREFIX)) return undefined;
    const global = source.slice(PREFIX.length);
    const file = provided[global];
    if (file !== undefined) return join(folder, `${file}.js`);
    if (global === 'NODE_ENV') return `${STUB}env`;
    const index = this.#stubs.push({ global, variable: `aanaAbsent${this.#stubs.length}` }) - 1;
    return `${STUB}${index}`;
  }

  load(id: string): string | undefined {
    if (!id.startsWith(STUB)) return undefined;
    if (id === `${STUB}env`) return "export const NODE_ENV = 'production';";
    const { variable } = this.#stubs[Number(id.slice(STUB.length))]!;
    return `const ${variable} = (() => undefined)();\nexport { ${variable} as absent };`;
  }

  /** Returns where a bundle uses unsupported globals. A file that checks for a global first may use it. */
  uses(code: string): { readonly global: string; readonly instead: string; readonly offset: number }[] {
    const uses = this.#stubs.flatMap(({ global, variable }) => {
      const all = [...code.matchAll(new RegExp(`(typeof\\s+)?\\b${variable}\\b(?!\\s*=[^=])`, 'g'))];
      const isGuarded = all.some((match) => match[1] !== undefined);
      const [first] = all;
      return isGuarded || !first ? [] : [{ global, instead: refused[global]!, offset: first.index }];
    });
    return uses.sort((a, b) => a.offset - b.offset);
  }
}
