import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { silentLogger as log } from '../../../base/core/log/logger.ts';
import { skip } from '../../../test/skip.ts';
import { testCacheDir } from '../fixtures/build-test-plugin.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { readComponent } from '../set/component.ts';
import { readManifest } from '../set/manifest.ts';
import { PluginHost } from '../set/plugin-host.ts';
import { buildPlugin } from './build-plugin.ts';
import { bundlePlugin } from './bundle.ts';
import { type BuildLimits, defaultBuildLimits } from './contained-build.ts';

const source = `
import * as z from 'zod/mini';
const schema = JSON.stringify(z.toJSONSchema(z.object({ text: z.string() })));
export const endpoint = {
  describe: () => [
    { name: 'a', path: '/a', summary: '', description: '', inputSchema: schema, outputSchema: '{}', streaming: false },
  ],
  run: (_name: string, input: string): string => input,
};`;

const BuildPlugin = suite<{ dir: string }>('buildPlugin');

async function makePlugin(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'aana-build-'));
  await mkdir(join(dir, 'src'));
  await writeFile(join(dir, 'plugin.json'), '{"name":"sample","version":"1.0.0"}');
  await writeFile(join(dir, 'src', 'index.ts'), source);
  return dir;
}

/** Takes the components of the same code that tests have made before. */
const options = { log, cacheDir: testCacheDir() };

/** The plugin, built once. */
let made = '';

/** Gives another folder what this build made. The record of the build still names the sources of `made`. */
const takeBuilt = (dir: string): Promise<void> => cp(join(made, 'dist'), join(dir, 'dist'), { recursive: true });

BuildPlugin.before(async () => {
  made = await makePlugin();
  await buildPlugin(made, { log });
});
BuildPlugin.after(() => rm(made, { recursive: true }));

BuildPlugin.before.each(async (context) => {
  context.dir = await makePlugin();
});
BuildPlugin.after.each(async ({ dir }) => rm(dir, { recursive: true }));

BuildPlugin('makes a component, and makes it again only when a source has changed', async ({ dir }) => {
  const first = await buildPlugin(dir, options);
  assert.equal(first, { component: join(dir, 'dist', 'sample.wasm'), rebuilt: true });
  assert.equal([...(await readFile(first.component)).subarray(0, 8)], [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]);
  assert.is((await buildPlugin(dir, options)).rebuilt, false);
  await writeFile(join(dir, 'src', 'index.ts'), source.replace('/a', '/b'));
  assert.is((await buildPlugin(dir, options)).rebuilt, true);
});

const endpoints = (answer: string): string => `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';
import { Input } from './schemas.ts';
const answer = (text: string): string => ${answer};
export const endpoint = definePlugin([
  defineEndpoint({ name: 'a', path: '/a', summary: '', input: Input, output: z.string(),
    run: ({ who }) => answer(who) }),
]);`;
const schemas = (most: number): string =>
  `import { z } from 'aana-host/plugin';\n` +
  `export const Input = z.object({ who: z.string().check(z.maxLength(${most})) });`;

BuildPlugin('gives what a build from nothing gives, whatever was built before', async ({ dir }) => {
  const copy = await makePlugin();
  const cacheDir = join(dir, 'cache');
  const host = new PluginHost({ sandbox: testSandbox, ports: new FakePorts(), cacheDir, log, isFast: true });
  /**
   * Builds the sources, and returns the digest, the map of positions, and what the plugin says of itself and answers.
   */
  const built = async (at: string, [index, input]: readonly [string, string], force = false) => {
    await writeFile(join(at, 'src', 'index.ts'), index);
    await writeFile(join(at, 'src', 'schemas.ts'), input);
    const { component, rebuilt } = await buildPlugin(at, { log, cacheDir, force });
    assert.ok(rebuilt);
    const plugin = await host.load(at);
    try {
      const answers = await Promise.all(['x', 'long'].map((who) => runPlugin(plugin, 'a', { who })));
      const { mappings } = JSON.parse(await readFile(`${component}.map`, 'utf8'));
      assert.is(typeof mappings, 'string');
      return { digest: plugin.digest, same: [plugin.endpoints, answers, mappings] };
    } finally {
      await plugin.close();
    }
  };
  try {
    const versions = [
      [endpoints('text'), schemas(9)],
      [endpoints('text + text'), schemas(9)], // takes the facts of the first one
      [endpoints('text + text'), schemas(7)],
    ] as const;
    const made = [];
    for (const version of versions) made.push(await built(dir, version));
    assert.is(new Set(made.map(({ digest }) => digest)).size, versions.length);
    assert.match(JSON.stringify(made[2]!.same), /maxLength[^,}]*7/);
    assert.equal(await built(dir, versions[1]), made[1], 'an earlier version has its bytes again');
    assert.equal(await built(copy, versions[1]), made[1], 'and so has a copy in another folder');
    const anew = await built(copy, versions[1], true);
    assert.equal(anew.same, made[1]!.same);
    assert.is.not(anew.digest, made[1]!.digest, 'the compiler has run');
  } finally {
    await host.close();
    await rm(copy, { recursive: true });
  }
});

BuildPlugin('makes a damaged component again', async ({ dir }) => {
  await takeBuilt(dir);
  await writeFile(join(dir, 'dist', 'sample.wasm'), 'damaged');
  assert.is((await buildPlugin(dir, options)).rebuilt, true);
});

BuildPlugin(
  'makes a component that imports the capabilities that its manifest asks for, and no others',
  async ({ dir }) => {
    const calling =
      `import { call } from 'aana:host/deployments@0.1.0';\nimport { Video } from ` +
      `'aana:host/media@0.1.0';\n${source.replace(
        'input;',
        "(input === '' ? call('', '', '', []) + " + 'Video.open({}) : input);',
      )}`;
    await writeFile(join(dir, 'src', 'index.ts'), calling);
    const uses = async (capabilities: readonly string[]): Promise<readonly string[]> => {
      await writeFile(join(dir, 'plugin.json'), JSON.stringify({ name: 'sample', version: '1.0.0', capabilities }));
      const { component, rebuilt } = await buildPlugin(dir, options);
      assert.ok(rebuilt, 'a change of capabilities builds anew');
      const reading = { plugin: 'sample', cacheDir: dir, sandbox: testSandbox, isFast: true };
      return (await readComponent(component, reading)).uses;
    };
    assert.equal(await uses(['deployments']), ['deployments']);
    assert.equal(await uses(['media', 'deployments']), ['media', 'deployments']);
  },
);

BuildPlugin('builds once when asked twice at the same time', async ({ dir }) => {
  const results = await Promise.all([buildPlugin(dir, options), buildPlugin(dir, options)]);
  assert.equal(results.map((result) => result.rebuilt).sort(), [false, true]);
});

BuildPlugin('takes a component that is there when the plugin has no TypeScript source', async ({ dir }) => {
  await takeBuilt(dir);
  await rm(join(dir, 'src'), { recursive: true });
  assert.equal(await buildPlugin(dir, options), { component: join(dir, 'dist', 'sample.wasm'), rebuilt: false });
});

const failures: { what: string; file: string; text: string; message: RegExp }[] = [
  {
    what: 'a source that does not parse',
    file: 'src/index.ts',
    text: 'export const a = 1;\nexport const b: = 2;',
    message: /^plugin sample cannot be bundled: src\/index\.ts:2:17: Unexpected token\n/,
  },
  {
    what: 'an import of a file that is not there',
    file: 'src/index.ts',
    text: '\nimport a from "./absent.ts";\nexport const endpoint = a;',
    message: / bundled: src\/index\.ts:2:15: Could not resolve '\.\/absent\.ts'/,
  },
  {
    what: 'an import of a package that is not there',
    file: 'src/index.ts',
    text: 'import a from "absent";\nexport const endpoint = a;',
    message: / bundled: src\/index\.ts:1:15: Could not resolve 'absent'/,
  },
  {
    what: 'an import that the other file does not export',
    file: 'src/index.ts',
    text: 'import { a } from "./other.ts";\nexport const endpoint = a;',
    message: / bundled: src\/index\.ts:1:10: "a" is not exported by "src\/other\.ts"/,
  },
  {
    what: 'a source without the export',
    file: 'src/index.ts',
    text: 'export const other = 1;',
    message: /^plugin sample cannot be bundled: src\/index\.ts does not export 'endpoint': export const endpoint/,
  },
  {
    what: 'a top level that throws',
    file: 'src/index.ts',
    text: 'const fails = (): never => {\n  throw new RangeError("at the top");\n};\nexport const endpoint = fails();',
    message:
      /^plugin sample cannot be made into a component: (Range)?Error: at the top\n +at fails \(src\/index\.ts:2:\d+\)/,
  },
  {
    what: 'a top level that calls the host',
    file: 'src/index.ts',
    text: "import { bytes } from 'aana:host/random@0.1.0';\nexport const endpoint = bytes(1);",
    message:
      /component: its top level calls the host \(aana:host\/random@0\.1\.0#bytes\), which exists only inside "run"$/,
  },
  {
    what: 'a top level that wants random bytes',
    file: 'src/index.ts',
    text: 'import "aana-host/plugin";\nexport const endpoint = crypto.randomUUID();',
    message: /component: Error: crypto\.randomUUID needs the host, which exists only inside "run"/,
  },
  {
    what: 'a top level that waits for what never comes',
    file: 'src/index.ts',
    text: 'const f = async () => { await 1; };\nawait f();\nawait new Promise(() => {});\nexport const endpoint = 1;',
    message: /component: src\/index\.ts:2:\d+: its top level waits for a promise that nothing settles$/,
  },
  {
    what: 'import() of a source of its own',
    file: 'src/index.ts',
    text: '\nexport const endpoint = () => import("./other.ts");',
    message: /src\/index\.ts:2:\d+: a plugin has no import\(\); .* of the component: import .* top of the file$/,
  },
  {
    what: 'import() of what only a run knows',
    file: 'src/index.ts',
    text: 'export const endpoint = (name: string) =>\n  import(`./${name}.ts`);',
    message: / bundled: src\/index\.ts:2:\d+: a plugin has no import\(\);/,
  },
  {
    what: 'import() of a host interface',
    file: 'src/index.ts',
    text: 'export const endpoint = () => import("aana:host/log@0.1.0");',
    message: / bundled: src\/index\.ts:1:\d+: a plugin has no import\(\);/,
  },
  {
    what: 'import() in a file that it imports',
    file: 'src/index.ts',
    text: 'export { late as endpoint } from "./late.ts";',
    message: / bundled: src\/late\.ts:2:\d+: a plugin has no import\(\);/,
  },
  {
    what: 'require() of what only a run knows',
    file: 'src/index.ts',
    text: 'export const endpoint = (name: string) => require(name);',
    message: / bundled: src\/index\.ts:1:\d+: a plugin has no require\(\);/,
  },
  {
    what: 'a manifest with an unknown key',
    file: 'plugin.json',
    text: '{"name":"a","version":"1.0.0","main":"x"}',
    message: /has an invalid plugin\.json \(.*main/,
  },
  {
    what: 'a manifest whose component lies outside',
    file: 'plugin.json',
    text: '{"name":"a","version":"1.0.0","component":"../x"}',
    message: /component: must be a path inside/,
  },
  {
    what: 'a capability that there is not',
    file: 'plugin.json',
    text: '{"name":"a","version":"1.0.0","capabilities":["files"]}',
    message:
      /capabilities\.0: must be one of media, .*, repositories-write, http, remote; types, .*, output are always there/,
  },
  {
    what: 'deployments without the capability',
    file: 'plugin.json',
    text: '{"name":"a","version":"1.0.0","deployments":["x"]}',
    message: /deployments: are named, but none of "deployments", "asr", "ocr" and "llm" is among the capabilities/,
  },
  {
    what: 'hosts without the capability',
    file: 'plugin.json',
    text: '{"name":"a","version":"1.0.0","hosts":["a.org"]}',
    message: /hosts: are named, but neither "http" nor "media" is among the capabilities/,
  },
  {
    what: 'an option of an endpoint that there is not',
    file: 'plugin.json',
    text: '{"name":"a","version":"1.0.0","endpoints":{"go":{"deferred":true}}}',
    message: /endpoints\.go: .*"deferred"/,
  },
  {
    what: 'a word for defer that there is not',
    file: 'plugin.json',
    text: '{"name":"a","version":"1.0.0","endpoints":{"go":{"defer":"sometimes"}}}',
    message: /endpoints\.go\.defer: .*"optional"\|"always"\|"never"/,
  },
  {
    what: 'a time that is none',
    file: 'plugin.json',
    text: '{"name":"a","version":"1.0.0","endpoints":{"go":{"execution_timeout_s":0}}}',
    message: /endpoints\.go\.execution_timeout_s: /,
  },
  {
    what: 'a time that the limits contradict',
    file: 'plugin.json',
    text: '{"name":"a","version":"1.0.0","limits":{"timeout_s":60},"endpoints":{"go":{"execution_timeout_s":61}}}',
    message:
      /endpoints\.go\.execution_timeout_s: is longer than limits\.timeout_s, after which every run is ended \(60\)/,
  },
  {
    what: 'a limit that there is not',
    file: 'plugin.json',
    text: '{"name":"a","version":"1.0.0","limits":{"cpu":1}}',
    message: /limits: .*"cpu"/,
  },
];

for (const [uses, message] of [
  ['storage', /the endpoint act uses the capability storage, which the plugin does not ask for/],
  ['http', /"uses" of the endpoint act names "http", but ctx has members only for storage, /],
] as const)
  failures.push({
    what: `an endpoint that uses ${uses} without it`,
    file: 'src/index.ts',
    text:
      `import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';\n` +
      `const act = { name: 'act', path: '/act', summary: '', input: z.strictObject({}), output: z.unknown() };\n` +
      `export const endpoint = definePlugin([defineEndpoint({ ...act, uses: ['${uses}' as never], run: () => 1 })]);`,
    message,
  });

/** Code, and the replacement that the error names. */
const absent: Readonly<Record<string, readonly [code: string, instead: RegExp]>> = {
  fetch: ['fetch("http://a/")', /add "http" to "capabilities" in plugin\.json, and the servers to "hosts"/],
  XMLHttpRequest: ['new XMLHttpRequest()', /network/],
  WebSocket: ['new WebSocket("ws://a/")', /network/],
  setImmediate: ['setImmediate(() => {}, 1)', /use setTimeout or queueMicrotask/],
  process: ['process.env.HOME', /no Node.*parameters of the endpoint/],
  Buffer: ['Buffer.from("a")', /Uint8Array/],
  __dirname: ['__dirname + "/a"', /no file system/],
  Intl: ['new Intl.NumberFormat("de")', /no locales/],
  WebAssembly: ['WebAssembly.compile(new Uint8Array())', /one thread/],
  localStorage: ['localStorage.getItem("a")', /no page/],
};
for (const [name, [code, instead]] of Object.entries(absent)) {
  failures.push({
    what: `${name}, where it stands,`,
    file: 'src/index.ts',
    text: `// a comment\nconst use = (): unknown => {\n  return ${code};\n};\nexport const endpoint = use;`,
    message: new RegExp(
      `^plugin sample cannot be bundled: src/index\\.ts:3:\\d+: a plugin has no ${name.replace('.', '\\.')}; ` +
        `.*${instead.source}.*$`,
    ),
  });
}
const modules: Readonly<Record<string, readonly [code: string, instead: RegExp]>> = {
  'node:fs': ['import fs from "node:fs";\nexport const endpoint = fs.readFileSync("a");', /no file system/],
  fs: ['const fs = require("fs");\nexport const endpoint = fs.readFileSync("a");', /no file system/],
  'node:http': ['import { get } from "node:http";\nexport const endpoint = get;', /no network/],
  'node:worker_threads': [
    'import { Worker } from "node:worker_threads";\nexport const endpoint = Worker;',
    /one thread/,
  ],
  'node:buffer': ['export { Buffer as endpoint } from "node:buffer";', /Uint8Array/],
  'node:crypto': ['import { createHash } from "node:crypto";\nexport const endpoint = createHash;', /crypto\.subtle/],
  'node:os': ['import { cpus } from "node:os";\nexport const endpoint = cpus;', /no Node/],
};
for (const [name, [text, instead]] of Object.entries(modules)) {
  failures.push({
    what: `an import of ${name}, where it stands,`,
    file: 'src/index.ts',
    text: `// a comment\n${text}`,
    message: new RegExp(
      `^plugin sample cannot be bundled: src/index\\.ts:2:\\d+: "${name}" is a module of Node, which a plugin ` +
        `cannot use; .*${instead.source}`,
    ),
  });
}

for (const { what, file, text, message } of failures) {
  BuildPlugin(`refuses ${what} with the reason`, async ({ dir }) => {
    await writeFile(join(dir, 'src', 'other.ts'), 'export const b = 1;\n');
    await writeFile(
      join(dir, 'src', 'late.ts'),
      '// a comment\nexport const late = () => import("./other.ts");\nexport const never = () => ' +
        'import("./absent.ts");\n',
    );
    await writeFile(join(dir, file), text);
    // The bundler says the same in a process of its own, which other tests start.
    const isOfBundle = / bundled: /.test(message.source);
    const build = isOfBundle ? bundlePlugin(await readManifest(dir)) : buildPlugin(dir, options);
    const error = await build.catch((reason: unknown) => reason);
    assert.ok(error instanceof Error);
    assert.is(error.name, 'PluginLoadError');
    assert.match(error.message, message);
  });
}

const bombs: Readonly<Record<string, { code: string; limits: BuildLimits; reason: RegExp }>> = {
  'does not end': {
    code: 'for (;;);',
    limits: { ...defaultBuildLimits, timeout_s: 5 },
    reason: /^plugin sample cannot be built: it takes longer than plugin_builds\.timeout_s \(5 s\)$/,
  },
  'takes all memory': {
    code: 'const kept = []; for (;;) if (kept.length < 100) kept.push(new Uint8Array(10_000_000).fill(1));',
    limits: { ...defaultBuildLimits, memory_bytes: 2 ** 29 },
    reason: /^plugin sample cannot be built: it takes more memory than plugin_builds\.memory_bytes \(512 MiB\)$/,
  },
};
for (const [what, { code, limits, reason }] of Object.entries(bombs)) {
  if (what.includes('memory') && process.platform !== 'linux') {
    skip(`a build that ${what}`, 'nobody looks at the memory of a process here');
    continue;
  }
  BuildPlugin(`ends a build that ${what}, and leaves nothing of it`, async ({ dir }) => {
    await writeFile(join(dir, 'src', 'index.ts'), `${code}\n${source}`);
    const error = await buildPlugin(dir, { ...options, limits }).catch((thrown: unknown) => thrown);
    assert.match((error as Error).message, reason);
    assert.equal(await readdir(join(dir, 'dist')), []);
    await writeFile(join(dir, 'src', 'index.ts'), source);
    assert.is((await buildPlugin(dir, options)).rebuilt, true);
  });
}

BuildPlugin('ends a build with its signal', async ({ dir }) => {
  await writeFile(join(dir, 'src', 'index.ts'), `for (;;);\n${source}`);
  const client = new AbortController();
  const building = buildPlugin(dir, { ...options, signal: client.signal }).catch((thrown: unknown) => thrown);
  while (!(await readdir(join(dir, 'dist')).catch((): string[] => [])).includes('sample.wasm.build')) await delay(5);
  const gone = new Error('gone');
  client.abort(gone);
  assert.is(await building, gone);
  assert.equal(await readdir(join(dir, 'dist')), []);
});

BuildPlugin('says all that is used and not there, each once a file', async ({ dir }) => {
  await writeFile(
    join(dir, 'src', 'other.ts'),
    'export const b = () => fetch("b");\nexport const unused = () => new WebSocket("ws://a/");\n',
  );
  await writeFile(
    join(dir, 'src', 'index.ts'),
    'import { b } from "./other.ts";\nexport const endpoint = () => [b(), Buffer.alloc(1), Buffer.alloc(2)];\n',
  );
  const error = await buildPlugin(dir, options).catch((reason: unknown) => reason);
  assert.ok(error instanceof Error);
  assert.equal(
    error.message.split('\n').map((line) => line.replace(/^plugin sample cannot be bundled: |; .*$/g, '')),
    ['src/other.ts:1:24: a plugin has no fetch', 'src/index.ts:2:37: a plugin has no Buffer'],
  );
});

BuildPlugin('takes names of its own for what the web has, and a library that asks before it uses', async ({ dir }) => {
  const code = `
const fetch = (what: string): string => what;
interface Buffer { readonly process: number }
const one: Buffer = { process: 1 };
const home = typeof process === 'undefined' ? 'none' : process.env.HOME;
const mode = process.env.NODE_ENV;
export const taken = [fetch('a'), one.process, home, mode, globalThis.navigator];`;
  await writeFile(join(dir, 'src', 'index.ts'), `${source}${code}`);
  assert.is((await buildPlugin(dir, options)).rebuilt, true);
});

BuildPlugin(
  'bundles what is required by name, waits at the top level for what comes, and leaves alone what is not reached',
  async ({ dir }) => {
    await writeFile(join(dir, 'src', 'old.cjs'), 'module.exports = { old: "require(x), import(y) and await z" };\n');
    await writeFile(
      join(dir, 'src', 'other.ts'),
      'export const b = 1;\nexport const never = (name: string) => [import(name), require(name)];\n',
    );
    await writeFile(
      join(dir, 'src', 'index.ts'),
      'import { b } from "./other.ts";\nconst { old } = require("./old.cjs");\nconst late = await ' +
        'Promise.resolve(b);\nexport const endpoint = { describe: () => [], run: () => `${old}${late}` };\n',
    );
    assert.is((await buildPlugin(dir, options)).rebuilt, true);
  },
);

BuildPlugin('puts into a component only the web globals that it names', async ({ dir }) => {
  const { size } = await stat(join(made, 'dist', 'sample.wasm'));
  await writeFile(join(dir, 'src', 'index.ts'), `${source}export const parsed = () => new URL('http://a/').href;`);
  const { size: withUrl } = await stat((await buildPlugin(dir, options)).component);
  assert.ok(withUrl - size > 100_000 && withUrl - size < 1_500_000, `${withUrl - size} bytes more`);
});

BuildPlugin.run();
