import { join } from 'node:path';
import { packageRoot } from '../../../base/core/package-root.ts';
import type { Capability } from '../capabilities/catalogue.ts';

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
  // Alone, a member needs less than all of `crypto`.
  'crypto.getRandomValues': 'random-values',
  'crypto.randomUUID': 'random-values',
  'crypto.subtle': 'subtle',
  CryptoKey: 'subtle',
  setTimeout: 'timers',
  setInterval: 'timers',
  clearTimeout: 'timers',
  clearInterval: 'timers',
  fetch: 'fetch/fetch',
  Request: 'fetch/request',
  Response: 'fetch/response',
  Headers: 'fetch/headers',
  Blob: 'fetch/blob',
  File: 'fetch/blob',
  FormData: 'fetch/form-data',
  ...Object.fromEntries(
    [
      'ByteLengthQueuingStrategy',
      'CountQueuingStrategy',
      'ReadableByteStreamController',
      'ReadableStream',
      'ReadableStreamBYOBReader',
      'ReadableStreamDefaultController',
      'ReadableStreamDefaultReader',
      'TextDecoderStream',
      'TextEncoderStream',
      'TransformStream',
      'WritableStream',
      'WritableStreamDefaultWriter',
    ].map((name) => [name, 'fetch/streams']),
  ),
};

/** Globals that need a capability. */
const ofCapability: Readonly<Record<string, Capability>> = { fetch: 'http' };

const noNetwork =
  'a plugin has no network of its own: open videos with ctx.video.open({ url }), call models with ' +
  'ctx.deployment(name), ask the hosts that plugin.json names with fetch';
const noLoop = 'use setTimeout or queueMicrotask';
const noPage = 'a plugin has no page and no browser: values come as parameters of the endpoint';
const noNode = 'a plugin has no Node: settings come as parameters of the endpoint, ctx gives the request, time and log';
const noBuffer = 'use Uint8Array or Blob, with TextEncoder and TextDecoder for text, btoa and atob for base64';
const noFiles =
  'a plugin has no file system: import what it needs, so that it is part of the component; what it keeps goes to ' +
  'ctx.storage';
const noThreads =
  'a plugin has one thread: call deployments, which compute in processes of their own, or helpers with ctx.runRemote';

/** Globals that a plugin cannot have, each with a replacement. */
const refused: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['XMLHttpRequest', 'WebSocket', 'EventSource'].map((name) => [name, noNetwork])),
  ...Object.fromEntries(['setImmediate', 'clearImmediate', 'requestAnimationFrame'].map((name) => [name, noLoop])),
  ...Object.fromEntries(
    ['window', 'document', 'localStorage', 'sessionStorage', 'indexedDB'].map((name) => [name, noPage]),
  ),
  ...Object.fromEntries(['process', 'global', 'Deno', 'Bun'].map((name) => [name, noNode])),
  Buffer: noBuffer,
  ...Object.fromEntries(['__dirname', '__filename'].map((name) => [name, noFiles])),
  ...Object.fromEntries(
    ['Worker', 'SharedWorker', 'MessageChannel', 'BroadcastChannel', 'Atomics', 'WebAssembly'].map((name) => [
      name,
      noThreads,
    ]),
  ),
  Intl: 'the interpreter has no locales: write numbers and dates by hand or with a library that brings its own',
};

function insteadOf(global: string): string {
  const needed = ofCapability[global];
  if (needed === undefined) return refused[global]!;
  return `add "${needed}" to "capabilities" in plugin.json, and the servers to "hosts"`;
}

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
      return 'use the global crypto: crypto.subtle, crypto.randomUUID, crypto.getRandomValues';
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

/** Finds the uses of a stand-in, with a `typeof` before them, and not its declaration. */
const usesOf = (variable: string): RegExp => new RegExp(`(typeof\\s+)?(?<!var )\\b${variable}\\b(?!\\s*=[^=])`, 'g');
/** Returns the name of a global that throws, as long as that of the stand-in, so that columns stay. */
const free = (variable: string): string => variable.replace('Absent', 'Lacked');

/**
 * Gives free names in the sources their meaning in the sandbox: a file of the SDK, or a stand-in that is `undefined`. A
 * stand-in has a unique name in the bundle, so that {@link WebGlobals.uses} finds it after unused code was removed.
 */
export class WebGlobals {
  /** The stand-ins, one for each global and file, because a file may check for a global before it uses it. */
  readonly #stubs: { readonly global: string; readonly variable: string; readonly isOfPackage: boolean }[] = [];

  /** The files of the globals that this plugin has. */
  readonly #files: Readonly<Record<string, string>>;

  /** For rolldown's `transform.inject`: maps free names to a module and its export. */
  readonly inject: Readonly<Record<string, [string, string]>>;

  /** @param capabilities those that the plugin asks for. */
  constructor(capabilities: readonly Capability[]) {
    const isGiven = ([name]: readonly [string, unknown]): boolean => {
      const needed = ofCapability[name];
      return needed === undefined || capabilities.includes(needed);
    };
    this.#files = Object.fromEntries(Object.entries(provided).filter(isGiven));
    const withOwners = Object.keys(this.#files).flatMap((name) =>
      ['', 'globalThis.', 'self.'].map((owner): [string, [string, string]] => [
        `${owner}${name}`,
        [`${PREFIX}${name}`, name.slice(name.lastIndexOf('.') + 1)],
      ]),
    );
    const absent = [...Object.keys(refused), ...Object.keys(ofCapability).filter((name) => !this.#files[name])].map(
      (name): [string, [string, string]] => [name, [`${PREFIX}${name}`, 'absent']],
    );
    this.inject = {
      ...Object.fromEntries([...withOwners, ...absent]),
      [['process', 'env', 'NODE_ENV'].join('.')]: [`${PREFIX}NODE_ENV`, 'NODE_ENV'],
    };
  }

  resolve(source: string, importer: string): string | undefined {
    if (source === 'tr46' && /[\\/]whatwg-url[\\/]/.test(importer)) return join(folder, 'domain.js');
    if (!source.startsWith(PREFIX)) return undefined;
    const global = source.slice(PREFIX.length);
    const file = this.#files[global];
    if (file !== undefined) return join(folder, `${file}.js`);
    if (global === 'NODE_ENV') return `${STUB}env`;
    const isOfPackage = /[\\/]node_modules[\\/]/.test(importer);
    const index = this.#stubs.push({ global, variable: `aanaAbsent${this.#stubs.length}`, isOfPackage }) - 1;
    return `${STUB}${index}`;
  }

  load(id: string): string | undefined {
    if (!id.startsWith(STUB)) return undefined;
    if (id === `${STUB}env`) return "export const NODE_ENV = 'production';";
    const { variable } = this.#stubs[Number(id.slice(STUB.length))]!;
    return `const ${variable} = (() => undefined)();\nexport { ${variable} as absent };`;
  }

  /**
   * Returns where a bundle uses unsupported globals. A file that checks for a global first may use it, and so may a
   * package, which has code for other places: see {@link WebGlobals.withErrors}.
   */
  uses(code: string): { readonly global: string; readonly instead: string; readonly offset: number }[] {
    const uses = this.#unchecked(code).flatMap(({ global, isOfPackage, offset }) =>
      isOfPackage ? [] : [{ global, instead: insteadOf(global), offset }],
    );
    return uses.sort((a, b) => a.offset - b.offset);
  }

  /**
   * Returns a bundle in which the unsupported globals of packages throw a `ReferenceError` where they are used. Lines
   * keep their numbers.
   */
  withErrors(code: string): string {
    const lacking = this.#unchecked(code).filter(({ isOfPackage }) => isOfPackage);
    const getters = lacking.map(({ global, variable }) => {
      const message = `${global} is not defined: a plugin has no ${global}; ${insteadOf(global)}`;
      const get = `get() { throw new ReferenceError(${JSON.stringify(message)}); }`;
      return `Object.defineProperty(globalThis, ${JSON.stringify(free(variable))}, { ${get} }); `;
    });
    const text = lacking.reduce((all, { variable }) => all.replaceAll(usesOf(variable), () => free(variable)), code);
    return getters.join('') + text;
  }

  /** Returns the first use of each stand-in that no `typeof` in its file tests. */
  #unchecked(code: string): readonly {
    readonly global: string;
    readonly variable: string;
    readonly isOfPackage: boolean;
    readonly offset: number;
  }[] {
    return this.#stubs.flatMap((stub) => {
      const all = [...code.matchAll(usesOf(stub.variable))];
      const isGuarded = all.some((match) => match[1] !== undefined);
      const [first] = all;
      return isGuarded || !first ? [] : [{ ...stub, offset: first.index }];
    });
  }
}
