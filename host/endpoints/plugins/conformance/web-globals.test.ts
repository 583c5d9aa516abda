// The web's globals in the sandbox, beside Node's: the same module runs in both, and must give the same.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';

/** Each expression must have the same value in Node and in the sandbox. */
const cases: Readonly<Record<string, string>> = {
  'URL resolves, and has its parts':
    `const url = new URL('../b;c?x=1&y=%20ü#h', ` +
    `'https://me:pw@Example.org:443/a/c?z'); return [url.href, url.origin, url.host, url.port, url.pathname, ` +
    `url.search, url.hash, url.username, url.password]`,
  'URL knows addresses':
    `return ['http://[::1]:80/', 'http://0x7f.1/', 'file:///C|/x/../y', 'HTTP:\\\\\\\\a\\\\b', ` +
    `'data:text/plain,a b'].map((text) => new URL(text).href)`,
  'URL takes international names':
    `return [new URL('https://Bücher.example/ä').href, new ` +
    `URL('https://ＡＢＣ。例え.テスト/').hostname, new URL('https://xn--bcher-kva.example').host]`,
  'URL refuses what is none':
    `return ['x', 'http://', 'http://a b/', 'http://[::1', 'http://a:99999'].map((text) ` +
    `=> [URL.canParse(text), URL.canParse(text, 'http://base/')])`,
  'URL is changed by its parts':
    `const url = new URL('http://a/b'); url.pathname = '/ü'; ` +
    `url.searchParams.append('k', 'a&b'); url.port = '8080'; url.protocol = 'https'; return [url.href, ` +
    `JSON.stringify(url), url instanceof URL, globalThis.URL === URL]`,
  'URLSearchParams reads and writes forms':
    `const form = new URLSearchParams('a=1&b=2&a=%E2%9C%93+x'); ` +
    `form.delete('b'); form.set('c', 'd e'); form.sort(); return [String(form), form.getAll('a'), [...form], ` +
    `form.has('c'), form.size, String(new URLSearchParams({ x: 'ü' })), String(new URLSearchParams([['p', 'q']]))]`,
  'TextEncoder writes UTF-8':
    "return ['', 'aü語😀', 'x\\ud800y', '\\udc00\\ud800'].map((text) => [...new TextEncoder().encode(text)])",
  'TextEncoder fills what there is room for':
    "const bytes = new Uint8Array(5); return [new TextEncoder().encodeInto('a語😀', bytes), [...bytes]]",
  'TextDecoder reads UTF-8':
    `return [[97, 195, 188], [0xef, 0xbb, 0xbf, 97], [0xf0, 0x9f, 0x98, 0x80], ` +
    `[]].map((bytes) => [new TextDecoder().decode(new Uint8Array(bytes)), new TextDecoder('utf8', { ignoreBOM: true ` +
    `}).decode(new Uint8Array(bytes))])`,
  'TextDecoder replaces what is malformed, once each':
    `return [[0xff, 97], [0xe0, 0x80, 0x80], [0xf0, 0x9f, 97], ` +
    `[0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]].map((bytes) => new ` +
    `TextDecoder().decode(new Uint8Array(bytes)))`,
  'TextDecoder can refuse what is malformed':
    `try { return new TextDecoder('utf-8', { fatal: true }).decode(new ` +
    `Uint8Array([97, 0xff])) } catch (error) { return error.name }`,
  'TextDecoder reads parts':
    `const decoder = new TextDecoder(); return [[0xf0, 0x9f], [0x98, 0x80, 0xc3], ` +
    `[0xbc]].map((bytes) => decoder.decode(new Uint8Array(bytes), { stream: true })).concat(decoder.decode())`,
  'TextDecoder reads a view and a buffer':
    `const { buffer } = new Uint8Array([97, 98, 99, 100]); return [new ` +
    `TextDecoder().decode(buffer), new TextDecoder().decode(new Uint8Array(buffer, 1, 2)), new ` +
    `TextDecoder().decode(new DataView(buffer, 2))]`,
  'TextDecoder knows Latin-1, which is windows-1252':
    `const all = Uint8Array.from({ length: 256 }, (_, n) => n).filter((n) => n < 0x80 || n > 0x9f); ` +
    `const mark = new Uint8Array([0xef, 0xbb, 0xbf]); ` +
    `return ['latin1', 'ISO-8859-1', ' Windows-1252 ', 'ascii'].map((label) => [new TextDecoder(label).encoding, new ` +
    `TextDecoder(label).decode(all), new TextDecoder(label).decode(mark)])`,
  'TextDecoder knows UTF-16, in pieces and with halves of pairs':
    `const bytes = new Uint8Array([0xff, 0xfe, 97, 0, 0x3d, 0xd8, 0, 0xde, 0x3d, 0xd8, 98, 0, 7]); ` +
    `const decoder = new TextDecoder('utf-16le'); const parts = [...bytes].map((byte) => ` +
    `decoder.decode(new Uint8Array([byte]), { stream: true })); ` +
    `const fatal = (() => { try { return new TextDecoder('utf-16', { fatal: true }).decode(bytes) } catch ` +
    `(error) { return error.name } })(); return [decoder.encoding, parts.join('') + decoder.decode(), new ` +
    `TextDecoder('UTF-16').decode(bytes), fatal, new TextDecoder('utf-16le', { ignoreBOM: true }).decode(bytes)]`,
  'TextDecoder refuses others': `try { new TextDecoder('nonsense') } catch (error) { return error.name }`,
  'TextDecoder reads much':
    "return new TextDecoder().decode(new TextEncoder().encode('ü語'.repeat(10000))) === 'ü語'.repeat(10000)",
  'TextDecoder reads any bytes':
    `const some = [0, 65, 127, 128, 143, 144, 159, 160, 191, 192, 194, 223, 224, 236, 237, 239, 240, 241, 244, 245, ` +
    `255]; let state = 7; const next = (limit) => (state = (Math.imul(state, 1103515245) + 12345) >>> 0, ` +
    `(state >>> 8) % limit); return Array.from({ length: 2000 }, () => new TextDecoder().decode(` +
    `Uint8Array.from({ length: next(9) }, () => some[next(some.length)])))`,
  'TextDecoder reads much that is malformed':
    `const bytes = new TextEncoder().encode('ü語'.repeat(50000)); bytes[bytes.length - 1] = 255; const text = ` +
    `new TextDecoder().decode(bytes); return [text.length, text.slice(-4), text.startsWith('ü語'.repeat(1000))]`,
  'structuredClone copies data':
    `const from = { n: 1, big: 2n ** 70n, none: undefined, at: new Date(5), re: /a/gi, ` +
    `list: [1, , 3], map: new Map([[{ k: 1 }, new Set([1])]]), bytes: new Uint8Array([1, 2, 3]).subarray(1) }; ` +
    `from.self = from; const to = structuredClone(from); return [to !== from, to.self === to, to.big === ` +
    `from.big, 'none' in to, to.at.getTime(), String(to.re), 1 in to.list, to.list.length, [...to.map][0][0].k, ` +
    `[...to.map][0][1].has(1), [...to.bytes], to.bytes.byteOffset]`,
  'structuredClone copies errors and boxes, and shares what was shared':
    `const one = {}; const [a, b] = ` +
    `structuredClone([one, one]); const error = structuredClone(new RangeError('r', { cause: 'c' })); return [a === ` +
    `b, error instanceof RangeError, error.message, error.cause, typeof structuredClone(Object(1)), ` +
    `Object.hasOwn(structuredClone(JSON.parse('{"__proto__":1}')), '__proto__')]`,
  'structuredClone refuses functions':
    `return [() => 1, Symbol('x'), new WeakMap(), { f() {} }].map((value) => { ` +
    `try { structuredClone(value); return 'cloned' } catch (error) { return error.name } })`,
  'structuredClone copies cycles through everything that holds values':
    `const map = new Map(); map.set(map, new Set([map])); const error = new Error('e', { cause: map }); ` +
    `const list = [map, error]; list.push(list); const [to, failed, self] = structuredClone(list); const [[key, ` +
    `set]] = to; return [key === to, set.has(to), failed.cause === to, self[0] === to, to !== map]`,
  'structuredClone refuses what has a state of its own':
    `return [() => [].values(), () => (function* () {})(), () => Object(Symbol()), () => new WeakRef({}), () => ` +
    `Promise.resolve(), () => new Map([[1, () => 1]]), () => new Set([Symbol()]), () => new Map().entries()].map(` +
    `(make) => { try { structuredClone({ in: [make()] }); return 'cloned' } catch (error) { return ` +
    `[error.name, error instanceof DOMException] } })`,
  'structuredClone moves buffers':
    `const bytes = new Uint8Array([1, 2]); const [one, two] = structuredClone([bytes, bytes.buffer], { transfer: ` +
    `[bytes.buffer] }); const fail = (...transfer) => { try { structuredClone(1, { transfer }); return 'cloned' } ` +
    `catch (error) { return error.name } }; const buffer = new ArrayBuffer(1); return [bytes.length, [...one], ` +
    `one.buffer === two, fail(buffer, buffer), buffer.byteLength]`,
  'btoa and atob are each the other':
    `return [btoa('a\\xff'), atob('YWJj'), (() => { try { return btoa('ü語') } ` +
    `catch (error) { return error instanceof Error || typeof error } })()]`,
  'AbortController tells its listeners once':
    `const seen = []; const { signal } = Object.assign(new ` +
    `AbortController()); const controller = new AbortController(); controller.signal.addEventListener('abort', ` +
    `(event) => seen.push(event.type)); controller.signal.onabort = () => seen.push('on'); ` +
    `controller.abort('why'); controller.abort('again'); return [seen.sort(), controller.signal.aborted, ` +
    `controller.signal.reason, signal.aborted]`,
  'AbortSignal throws its reason':
    'try { AbortSignal.abort().throwIfAborted() } catch (error) { return [error.name, error.message] }',
  'AbortSignal.any follows the first':
    `const [a, b] = [new AbortController(), new AbortController()]; const any = ` +
    `AbortSignal.any([a.signal, b.signal]); b.abort(2); const first = any.reason; return [any.aborted, first, ` +
    `AbortSignal.any([AbortSignal.abort(3)]).reason]`,
  'EventTarget calls listeners in order, until one stops it':
    `const seen = []; const target = new EventTarget(); ` +
    `const twice = () => seen.push('a'); target.addEventListener('x', twice); target.addEventListener('x', twice); ` +
    `target.addEventListener('x', { handleEvent: (event) => { seen.push(event.target === target); ` +
    `event.stopImmediatePropagation(); event.preventDefault() } }, { once: true }); ` +
    `target.addEventListener('x', () => seen.push('c')); return [target.dispatchEvent(new Event('x', { ` +
    `cancelable: true })), target.dispatchEvent(new Event('x')), seen]`,
  'crypto refuses what it cannot fill':
    `return [() => crypto.getRandomValues(new Float32Array(1)), () => ` +
    `crypto.getRandomValues(new Uint8Array(65537))].map((fill) => { try { fill(); return 'filled' } catch (error) { ` +
    `return error.name } })`,
  'crypto fills and gives back':
    `const bytes = new Uint32Array(8); return [crypto.getRandomValues(bytes) === ` +
    `bytes, bytes.some((n) => n > 0xffff), ` +
    `/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())]`,
  'what a locale changes nothing of is what it was':
    `const at = new Date(NaN); return ['Straße'.toLocaleUpperCase('de'), 'ÀB'.toLocaleLowerCase(['en-US', 'fr']), ` +
    `'b'.localeCompare('a'), 'a'.localeCompare('a', []), (5).toLocaleString(), [1, 'x', null].toLocaleString(), ` +
    `at.toLocaleDateString(), (0.5).toLocaleString(undefined, undefined), 'x'.localeCompare.name, ` +
    `'x'.localeCompare.length, Object.keys(Number.prototype), [..."ba"].sort((a, b) => a.localeCompare(b))]`,
  'performance.now goes on':
    `const from = performance.now(); for (let n = 0; n < 100000; n++) Math.sqrt(n); return ` +
    `performance.now() > from`,
  'Math.random lies evenly in 0 to 1':
    `const all = Array.from({ length: 4000 }, () => Math.random()); const sum = ` +
    `all.reduce((a, b) => a + b); return [all.every((x) => x >= 0 && x < 1), new Set(all).size, Math.abs(sum / 4000 ` +
    `- 0.5) < 0.05]`,
  'a library that asks first does without what is not there':
    `return [typeof process === 'undefined' || typeof ` +
    `process.env, typeof fetch === 'undefined' || typeof fetch].length`,
};

const names = Object.keys(cases);
const casesModule = (): string => `export const refusedLocales = [\n${Object.keys(refusedLocales)
  .map((call) => `() => ${call},`)
  .join('\n')}
];
export const cases = [\n${Object.values(cases)
  .map((body) => `() => { ${body} },`)
  .join('\n')}\n];\n`;
const pluginSource = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';
import { cases, refusedLocales } from './cases.mjs';
const atTop = [Math.random(), performance.now() > 0];
const endpoint_ = (name: string, run: (n: number) => unknown) =>
  defineEndpoint({
    name, path: '/' + name, summary: '', input: z.object({ n: z.int() }), output: z.any(), run: ({ n }) => run(n),
  });
class Wrong extends Error { override name = 'Wrong'; }
function fails(): never {
  throw new Wrong('of the plugin');
}
export const endpoint = definePlugin([
  endpoint_('case', (n) => cases[n]!()),
  endpoint_('random', () => [Math.random(), crypto.randomUUID(), atTop.length]),
  endpoint_('locales', () => refusedLocales.map((call) => {
    try { return String(call()); } catch (error) { return String(error); }
  })),
  endpoint_('latin1', () => new TextDecoder('latin1').decode(Uint8Array.from({ length: 32 }, (_, n) => 0x80 + n))),
  endpoint_('fail', () => fails()),
  endpoint_('console', () => {
    console.log('a log', { n: 1 }, [2], new Map([['k', new Set([3])]]), undefined, null);
    console.info('%s has %d%% of %j', 'it', 5, { x: 1 }, 'more');
    console.debug('a debug');
    console.trace('a trace');
    console.warn('a warning');
    console.error(new TypeError('an error'));
    console.assert(true, 'never');
    console.assert(false, 'an assertion');
    console.group('a group');
    console.groupEnd();
    console.table([{ a: 1 }]);
    console.count();
    console.count();
    console.time('t');
    console.timeEnd('t');
    const loop: { self?: unknown } = {};
    loop.self = loop;
    console.log(loop, 1n);
    return null;
  }),
]);
`;

const WebGlobals = suite('web globals in the sandbox');
let dir = '';
let inNode: readonly (() => unknown)[] = [];
const ports = new FakePorts();
let host: PluginHost | undefined;
let plugin: LoadedPlugin;

WebGlobals.before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aana-web-'));
  await mkdir(join(dir, 'src'));
  await writeFile(join(dir, 'plugin.json'), '{"name":"web","version":"1.0.0"}');
  await writeFile(join(dir, 'src/cases.mjs'), casesModule());
  await writeFile(join(dir, 'src/index.ts'), pluginSource);
  ({ cases: inNode } = await import(pathToFileURL(join(dir, 'src/cases.mjs')).href));
  await buildTestPlugin(dir);
  host = new PluginHost({ sandbox: testSandbox, ports, cacheDir: testCacheDir(), isFast: true, log: silentLogger });
  plugin = await host.load(dir);
});
WebGlobals.after(async () => {
  await host?.close(); // undefined when `before` failed
  await rm(dir, { recursive: true, force: true });
});

async function run(endpoint: string, n = 0): Promise<unknown> {
  return JSON.parse(
    await plugin.run({
      endpoint,
      input: JSON.stringify({ n }),
      requestId: 'r',
      deadlineMs: 60_000,
      signal: new AbortController().signal,
      files: new Map(),
    }),
  );
}

const lines = (): { level: string; message: string; fields?: { stack?: string } }[] =>
  ports.lines.map((line) => JSON.parse(line));

for (const [n, name] of names.entries()) {
  WebGlobals(name, async () => assert.equal(await run('case', n), JSON.parse(JSON.stringify(inNode[n]!()))));
}

/** Calls, and the text of the error. */
const refusedLocales: Readonly<Record<string, string>> = {
  "(1234.5).toLocaleString('de')": 'toLocaleString cannot follow the locale "de": write it with toFixed',
  "(5n).toLocaleString('en-US')": 'toLocaleString cannot follow the locale "en-US": write it with toFixed',
  "(5).toLocaleString(undefined, { style: 'percent' })": 'toLocaleString cannot follow options',
  "[1.5].toLocaleString('de')": 'toLocaleString cannot follow the locale "de"',
  "new Float32Array(1).toLocaleString(['fr', 'de'])": 'toLocaleString cannot follow the locale "fr"',
  "new Date(0).toLocaleString('de')": 'toLocaleString cannot follow the locale "de": write it with the parts',
  "new Date(0).toLocaleDateString('en-GB')": 'toLocaleDateString cannot follow the locale "en-GB"',
  "new Date(0).toLocaleTimeString([], { hour: '2-digit' })": 'toLocaleTimeString cannot follow options',
  "'a'.localeCompare('b', 'de')": 'localeCompare cannot follow the locale "de": compare with <',
  "'a2'.localeCompare('a10', undefined, { numeric: true })": 'localeCompare cannot follow options',
  "'I'.toLocaleLowerCase('tr-TR')": 'toLocaleLowerCase cannot follow the locale "tr-TR": use toUpperCase',
  "'i'.toLocaleUpperCase(['de', 'az'])": 'toLocaleUpperCase cannot follow the locale "az"',
};
WebGlobals('a locale that there is not is refused, and the error says what to do', async () => {
  const given = (await run('locales')) as string[];
  for (const [at, [call, message]] of Object.entries(refusedLocales).entries())
    assert.ok(given[at]!.startsWith(`RangeError: a plugin has no locales, so ${message}`), `${call}: ${given[at]}`);
});

WebGlobals('Latin-1 has the characters of the standard from 0x80 on', async () => {
  // Node 20 has control characters there.
  assert.is(await run('latin1'), '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ');
});

WebGlobals('random numbers differ between runs', async () => {
  const runs = (await Promise.all([run('random'), run('random'), run('random')])) as [number, string][];
  assert.is(new Set(runs.map(([number]) => number)).size, 3);
  assert.is(new Set(runs.map(([, uuid]) => uuid)).size, 3);
});

WebGlobals('every level of the console goes to the log of the host', async () => {
  await run('console');
  const said = lines().map(({ level, message }) => `${level} ${message}`);
  const has = (line: string): void => assert.ok(said.includes(line), `${line} is not in\n${said.join('\n')}`);
  has('info a log {"n":1} [2] Map [["k",{}]] undefined null');
  has('info it has 5% of {"x":1} more');
  has('debug a debug');
  has('debug a trace');
  has('warn a warning');
  has('error assertion failed: an assertion');
  has('info a group');
  has('info [{"a":1}]');
  has('info default: 2');
  has('info [object Object] 1');
  assert.ok(said.some((line) => line.startsWith('error TypeError: an error\n')));
  assert.ok(said.some((line) => /^info t: \d+ ms$/.test(line)));
  assert.not.ok(said.some((line) => line.includes('never')));
});

WebGlobals('a thrown error is logged with the line of the source that threw it', async () => {
  await run('fail').catch(() => {});
  const { stack } = lines().find(({ message }) => message === 'endpoint failed')!.fields!;
  const line = pluginSource.split('\n').findIndex((text) => text.includes('throw new Wrong')) + 1;
  assert.match(stack!, new RegExp(`at fails \\(src/index\\.ts:${line}:\\d+\\)`));
  assert.not.match(stack!, 'aana-bundle.js');
});

WebGlobals.run();
