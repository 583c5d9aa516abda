// Uses the package made by `npm pack` outside of the repository, like a new user.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openAsBlob } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { distinct, shapeOf } from './json-shape.ts';
import { NOT_INSTALLED } from './locked-packages.ts';
import { packRelease } from './pack-release.ts';
import { loadConfig } from '../../host/base/config/index.ts';
import { packageRoot } from '../../host/base/core/package-root.ts';
import { PREBUILT_PACKAGE } from '../../host/setup/native-build/index.ts';
import { startExample } from '../../host/test/helpers/embed-example.ts';
import { speechPath, talkWithSlides } from '../../host/test/helpers/media/media.ts';
import { freePort, post, streamed, until } from '../../host/test/helpers/server.ts';

const exec = promisify(execFile);
const Package = suite('the package outside of the repository');

let folder = '';
let billOfMaterials = '';
const run = (command: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> =>
  exec(command, args, { cwd: folder, timeout: 280_000 });

Package.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-package-'));
  const { devDependencies } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'));
  const { main, prebuilt, sbom } = await packRelease(folder, loadConfig().cache_dir);
  billOfMaterials = sbom;
  await writeFile(join(folder, 'package.json'), '{"name":"user","private":true}');
  await run(
    'npm',
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    main,
    ...prebuilt,
    `@types/node@${devDependencies['@types/node']}`,
  );
});
Package.after(() => rm(folder, { recursive: true, force: true }));

const installed = (path: string): string => join(folder, 'node_modules/aana-host', path);

Package('has the files for run time and no tests', async () => {
  for (const file of [
    'wit/world.wit',
    'CMakeLists.txt',
    'native/cmake',
    'native/src/core',
    'native/src/launcher',
    'native/src/sandbox',
    'native/sandbox',
    'plugins/video-transcribe/src/index.ts',
    'docs/plugins.md',
    'host/apis/openapi/client-generator/runtime/api.ts',
    'LICENSE',
    'NOTICE',
    'bundle/LICENSES.txt',
  ])
    assert.ok(existsSync(installed(file)), file);
  const files = await readdir(installed('.'), { recursive: true });
  assert.equal(
    files.filter((file) => /\.test\.|fixtures|\.tsbuildinfo|^dist\/(plugins|tools|host\/(test|bench))/.test(file)),
    [],
  );
});

Package('has neither the tools that build plugins nor packages of which the checkout replaces a version', async () => {
  const lock = JSON.parse(await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>;
  };
  const versions = Object.fromEntries(
    Object.entries(lock.packages).map(([path, { version }]) => [path.replace(/^.*node_modules\//, ''), version]),
  );
  const manifest = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    overrides: object;
  };
  for (const name of [...NOT_INSTALLED, ...Object.keys(manifest.overrides)]) assert.is(versions[name], undefined, name);
  const licences = await readFile(installed('bundle/LICENSES.txt'), 'utf8');
  assert.ok(licences.includes(`koa ${manifest.dependencies['koa']} `), 'the bundle has another version');
});

Package('has a bill of materials with every package of an installation and the sources of the addon', async () => {
  const text = await readFile(billOfMaterials, 'utf8');
  const bom = JSON.parse(text) as {
    bomFormat: string;
    specVersion: string;
    components: { name: string; group?: string; version: string; purl: string }[];
    dependencies: { ref: string; dependsOn?: string[] }[];
  };
  assert.equal([bom.bomFormat, bom.specVersion], ['CycloneDX', '1.6']);
  assert.not.match(text, /registry\.invalid/);
  const named = new Set(
    bom.components.map(({ name, group, version }) => `${group ? `${group}/` : ''}${name}@${version}`),
  );
  const lock = JSON.parse(await readFile(join(packageRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { name?: string; version: string; dev?: boolean; devOptional?: boolean; link?: boolean }>;
  };
  const missing = Object.entries(lock.packages)
    .filter(([path, { dev, devOptional, link }]) => path !== '' && !dev && !devOptional && !link)
    .map(([path, { name, version }]) => `${name ?? path.replace(/^.*node_modules\//, '')}@${version}`)
    .filter((one) => !named.has(one));
  assert.equal(missing, []);
  for (const [name, registry] of [
    ['llama.cpp', 'npm'],
    ['whisper.cpp', 'npm'],
    ['SQLite', 'npm'],
    ['Wasmtime', 'pypi'],
  ] as const)
    assert.ok(
      bom.components.some((one) => one.name === name && one.purl.startsWith(`pkg:${registry}/`)),
      name,
    );
  assert.ok(bom.dependencies.some(({ dependsOn }) => dependsOn?.some((ref) => ref.startsWith('native|llama.cpp'))));
  assert.not.ok(text.includes(packageRoot), 'it has paths of this machine');
});

Package('npm has nothing to say against publishing both packages', async () => {
  const tarballs = (await readdir(folder)).filter((file) => file.endsWith('.tgz'));
  assert.is(tarballs.length, 2);
  for (const name of tarballs) {
    const { stderr } = await run('npm', 'publish', '--dry-run', '--ignore-scripts', join(folder, name));
    const warnings = stderr.split('\n').filter((line) => /^npm (warn|error)/i.test(line) && !/logged in/.test(line));
    assert.equal(warnings, []);
  }
});

/** Builds the addon and SQLite in the installed package where there is Node, and neither compilers nor git. */
async function buildWithoutTools(): Promise<{ stdout: string; stderr: string }> {
  const bin = join(folder, 'bin');
  await mkdir(bin, { recursive: true });
  if (!existsSync(join(bin, 'node'))) await symlink(process.execPath, join(bin, 'node'));
  return exec(
    process.execPath,
    [installed('bundle/host/cli/main.js'), 'build-native', '--cache-dir', join(folder, 'empty-cache')],
    { cwd: folder, env: { PATH: bin, HOME: folder, AANA_CUDA_BACKEND: 'off', AANA_BUILD: 'prebuilt' } },
  );
}

Package('loads nothing of a prebuilt package whose files were changed', async () => {
  const file = join(folder, 'node_modules', PREBUILT_PACKAGE, 'addon/aana_native.node');
  const content = await readFile(file);
  try {
    await writeFile(file, Buffer.concat([content, Buffer.of(0)]));
    const { stderr } = await buildWithoutTools().catch((error: { stderr: string }) => error);
    assert.match(stderr, 'the prebuilt package is not used');
    assert.match(stderr, 'compiler');
  } finally {
    await writeFile(file, content);
  }
});

Package('says that the C library of the machine is older than that of the prebuilt package', async () => {
  const file = join(folder, 'node_modules', PREBUILT_PACKAGE, 'package.json');
  const content = await readFile(file, 'utf8');
  const manifest = JSON.parse(content) as { config: { glibc: string; glibcxx: string } };
  assert.match(manifest.config.glibc, /^2\.\d+$/);
  assert.match(manifest.config.glibcxx, /^3\.4\.\d+$/);
  try {
    await writeFile(file, JSON.stringify({ ...manifest, config: { glibc: '2.999' } }));
    const { stderr } = await buildWithoutTools().catch((error: { stderr: string }) => error);
    assert.match(
      stderr,
      /the prebuilt package is not used.*glibc 2\.999 or later is needed, and this machine has 2\.\d+/,
    );
  } finally {
    await writeFile(file, content);
  }
});

Package('needs no compiler on a platform with a prebuilt package', async () => {
  const { stdout, stderr } = await buildWithoutTools();
  assert.match(stderr, 'copied from the prebuilt package');
  const [addon = '', sqlite = '', sandbox = ''] = stdout.trim().split('\n');
  assert.is(addon, installed('build/Release/aana_native.node'));
  const load = `const { devices } = require(process.argv[1]); require(process.argv[2]); console.log(typeof devices)`;
  assert.match((await run(process.execPath, '-e', load, addon, sqlite)).stdout, 'function');
  assert.match((await run(sandbox, 'confinement')).stdout, 'seccomp');
  assert.ok(existsSync(join(dirname(sandbox), 'LICENSE-wasmtime')));
  assert.not.ok(existsSync(join(folder, 'empty-cache/native')), 'no sources were fetched');
});

/** Serves a plugin with the installed command while `work` runs. Returns what the server wrote. */
async function whileServed(cwd: string, plugin: string, work: (url: string) => Promise<void>): Promise<string> {
  const port = await freePort();
  const command = join(folder, 'node_modules/.bin/aana-host');
  const server = spawn(command, ['serve', plugin, '--port', String(port)], { cwd, stdio: 'pipe' });
  let output = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (data) => (output += data));
  try {
    const url = `http://127.0.0.1:${port}`;
    await until(async () => {
      assert.is(server.exitCode, null, output);
      return (await fetch(`${url}/api/ready`).catch(() => undefined))?.status === 200;
    }, 120_000);
    await work(url);
  } finally {
    server.kill('SIGTERM');
    if (server.exitCode === null) await once(server, 'exit');
  }
  assert.is(server.exitCode, 0, output);
  return output;
}

Package('makes a plugin that can be edited, built and served', async () => {
  await run('npx', 'aana-host', 'new', 'my-plugin');
  const source = join(folder, 'my-plugin/src/index.ts');
  const text = await readFile(source, 'utf8');
  assert.match(text, 'Hello, ${who}!');
  await writeFile(source, text.replace('Hello, ${who}!', 'Good morning, ${who}!'));
  const build = (registry: object): Promise<{ stdout: string; stderr: string }> =>
    exec('npx', ['aana-host', 'build', 'my-plugin', '--cache-dir', join(folder, 'tools-cache')], {
      cwd: folder,
      env: { ...process.env, ...registry },
    });
  const { stderr: offline } = await build({ npm_config_registry: 'http://127.0.0.1:9/' }).catch((error) => error);
  assert.match(offline, /its tools are missing: npm:.* could not be fetched: .*ECONNREFUSED/);
  const { stdout, stderr } = await build({});
  assert.match(stdout, join('my-plugin', 'dist', 'my-plugin.wasm'));
  const [, about] = /fetching the tools that build plugins.* download="about (\d+) MB"/.exec(stderr) ?? [];
  const [, bytes] = /fetched the tools.* bytes=(\d+)/.exec(stderr) ?? [];
  assert.ok(Math.abs(Number(bytes) / 1e6 / Number(about) - 1) < 0.2, stderr);
  await rm(join(folder, 'tools-cache'), { recursive: true }); // a built plugin is served without them

  const output = await whileServed(join(folder, 'my-plugin'), '.', async (url) => {
    const response = await post(`${url}/my-plugin/greet`, { who: 'Ada', times: 2 });
    assert.is(response.status, 200);
    assert.equal(await response.json(), { greeting: 'Good morning, Ada! Good morning, Ada!' });
    assert.is((await post(`${url}/my-plugin/greet`, { who: '' })).status, 422);
  });
  assert.not.match(output, 'fetching');
});

interface Passage {
  readonly text: string;
}

Package('serves the library of videos from an empty folder, which finds what real speech says', async () => {
  const project = join(folder, 'library');
  await mkdir(project);
  await cp(join(packageRoot, 'examples/video-library/aana.config.json'), join(project, 'aana.config.json'));
  await whileServed(project, installed('plugins/video-library'), async (url) => {
    const form = new FormData();
    form.set('body', '{"videos":[{"content":"a","media_id":"inauguration"}]}');
    form.set('a', await openAsBlob(speechPath()), 'inauguration.wav');
    const added = await fetch(`${url}/library/add`, { method: 'POST', body: form });
    assert.is(added.status, 200, await added.text());
    const question = { question: 'What should citizens do for their nation?', limit: 1 };
    const found = (await (await post(`${url}/library/search`, question)).json()) as { passages: Passage[] };
    assert.match(found.passages[0]!.text, /your country/i);
    const asked = (await (await post(`${url}/library/ask`, question)).json()) as { answer: string; sources: Passage[] };
    assert.ok(asked.answer.trim().length > 0);
    assert.is(asked.sources[0]?.text, found.passages[0]!.text);
  });
});

/** What the original's "chat with video" answers, by the path. A stream has the shapes of its values in order. */
const CHAT_WITH_VIDEO = {
  '/video/index_stream': [
    { media_id: 'string', metadata: { title: 'string', description: 'string', duration: 'number' } },
    {
      transcription: { text: 'string' },
      segments: [
        {
          text: 'string',
          time_interval: { start: 'number', end: 'number' },
          confidence: 'number',
          no_speech_confidence: 'number',
          words: [],
          speaker: null,
        },
      ],
      transcription_info: { language: 'string', language_confidence: 'number' },
    },
    { captions: ['string'], timestamps: ['number'] },
    { transcription_id: 'number', caption_ids: ['number'] },
  ],
  '/video/status': { status: 'string' },
  '/video/metadata': { metadata: { title: 'string', description: 'string', duration: 'number' } },
  '/video/chat_stream': [{ completion: 'string' }],
  '/video/delete': { media_id: 'string' },
};

Package('serves chats with videos in the shapes of the original from an empty folder', async () => {
  const project = join(folder, 'chat');
  await mkdir(project);
  await cp(join(packageRoot, 'examples/video-chat/aana.config.json'), join(project, 'aana.config.json'));
  await whileServed(project, installed('plugins/video-chat'), async (url) => {
    const ask = async (path: string, body: object, clip?: Uint8Array): Promise<readonly unknown[]> => {
      const form = new FormData();
      form.set('body', JSON.stringify(body));
      if (clip) form.set('clip', new Blob([new Uint8Array(clip)]), 'talk.mp4');
      return streamed<unknown>(await fetch(`${url}${path}`, { method: 'POST', body: form }));
    };
    const id = { media_id: 'talk' };
    const bodies: Record<keyof typeof CHAT_WITH_VIDEO, object> = {
      '/video/index_stream': { video: { content: 'clip', ...id } },
      '/video/status': id,
      '/video/metadata': id,
      '/video/chat_stream': { ...id, question: 'Who is asked?', sampling_params: { max_tokens: 8 } },
      '/video/delete': id,
    };
    for (const [path, shape] of Object.entries(CHAT_WITH_VIDEO)) {
      const clip = path === '/video/index_stream' ? await talkWithSlides() : undefined;
      const values = await ask(path, bodies[path as keyof typeof bodies], clip);
      assert.equal(distinct(values.map(shapeOf)), [shape].flat(), `${path}: ${JSON.stringify(values)}`);
    }
    const [gone] = await ask('/video/status', id);
    const { error, data } = gone as { error: string; data: { id: string } };
    assert.equal([error, data.id], ['NotFoundException', 'talk']);
  });
});

const HOST_CODE = `
import { AanaApp, type AanaError, type Config, Endpoint, type HandleOf,
  type HostEndpointContext, type DeploymentDefinition, loadConfig, schemas,
  WhisperConfig, WhisperDeployment, WhisperModelSize } from 'aana-host';
import { configClass, Deployment, type Input, method, streamingMethod, z } from 'aana-host/deployment';
const config: Config = loadConfig({ flags: { port: '0' } });
const app = new AanaApp({ config });
const user_config = new WhisperConfig({ model_size: WhisperModelSize.BASE });
app.registerDeployment('asr_deployment', WhisperDeployment.options({ num_replicas: 2, user_config }));
const asr = app.handle(WhisperDeployment, 'asr_deployment');
const audio = { channels: [], sample_rate: 16000 as const };
export const text: Promise<string> = asr.transcribe({ audio }).then(({ transcription }) => transcription.text);
// @ts-expect-error the audio is missing
app.handle<typeof WhisperDeployment>('asr_deployment').transcribe({});
export class CountConfig extends configClass(z.strictObject({ by: z.int().default(1) })) {}
export class CountDeployment extends Deployment<CountConfig> {
  static readonly module = import.meta.url;
  static readonly config = CountConfig;
  static readonly methods = {
    next: method({ description: 'The next number.', input: z.strictObject({ of: z.int() }), output: z.int() }),
    count: streamingMethod({ description: 'Counts.', input: z.strictObject({ to: z.int() }), output: z.int() }),
  };
  #by = 1;
  override applyConfig({ by }: CountConfig): void {
    this.#by = by;
  }
  async next({ of }: Input<typeof CountDeployment, 'next'>): Promise<number> {
    return of + this.#by;
  }
  async *count({ to }: Input<typeof CountDeployment, 'count'>): AsyncGenerator<number> {
    for (let n = 0; n < to; n += this.#by) yield n;
  }
}
app.registerDeployment('count', CountDeployment.options({ user_config: { by: 2 }, max_ongoing_requests: 3 }));
// @ts-expect-error the configuration has no such key
CountDeployment.options({ user_config: { step: 2 } });
class Wrong extends CountDeployment {
  static override readonly methods = {
    ...CountDeployment.methods,
    missing: method({ description: '', input: z.strictObject({}), output: z.int() }),
  };
}
// @ts-expect-error the class lacks a method
Wrong.options();
// @ts-expect-error a deployment has a type
app.registerDeployment('other', { user_config: {} });
const In = z.strictObject({ n: z.int() });
const Out = z.strictObject({ n: z.int() });
class Add extends Endpoint<typeof In, typeof Out> {
  readonly input = In;
  readonly output = Out;
  #count!: HandleOf<typeof CountDeployment>;
  override async initialize(): Promise<void> {
    this.#count = this.handle(CountDeployment, 'count');
  }
  async *run(
    { n: to }: z.infer<typeof In>,
    { signal }: HostEndpointContext,
  ): AsyncGenerator<z.infer<typeof Out>, void> {
    for await (const n of this.#count.count({ to }, { signal })) yield { n };
  }
}
app.registerEndpoint({ name: 'add', path: '/add', summary: 'Adds', endpoint_cls: Add });
app.registerEndpoint({ name: 'same', path: '/same', input: In, output: Out, run: async ({ n }) => ({ n }) });
const theirs = { component: './plugins/theirs', endpoint: 'one', tags: ['theirs'] };
app.registerEndpoint({ name: 'theirs', path: '/theirs', ...theirs });
// @ts-expect-error the answer does not match the output schema
app.registerEndpoint({ name: 'b', path: '/b', input: In, output: Out, run: async () => ({ n: 'one' }) });
// @ts-expect-error the implementation is missing
app.registerEndpoint({ name: 'c', path: '/c' });
// @ts-expect-error there is no such option
new AanaApp({ migrationFunc: () => {} });
export const middleware: (ctx: object, next: () => Promise<void>) => Promise<void> = app.middleware({ prefix: '/ai' });
export const parsed = schemas.VideoInput;
export type Names = AanaError['kind'] | DeploymentDefinition['name'];
`;
const PLUGIN_CODE = `
import { defineEndpoint, definePlugin, VideoInput, z } from 'aana-host/plugin';
import { runEndpoint } from 'aana-host/plugin/testing';
const input = z.strictObject({ video: VideoInput, least: z._default(z.int(), 0) });
const output = z.strictObject({ seconds: z.number() });
const names = { name: 'length', path: '/video/length', summary: 'Length' };
const length = defineEndpoint({
  ...names,
  input,
  output,
  run: async ({ video, least }, ctx) => ({
    seconds: Math.max(least, (await ctx.video.open(video)).info.duration ?? 0),
  }),
});
// @ts-expect-error the answer does not match the output schema
defineEndpoint({ ...names, input, output, run: () => ({ seconds: 'two' }) });
// @ts-expect-error the input has no such parameter
defineEndpoint({ ...names, input, output, run: ({ sound }) => ({ seconds: 1 }) });
export const endpoint = definePlugin([length]);
runEndpoint(endpoint, 'length', { video: { path: '/a.mp4' } });
`;

Package('runs inside another program, with a deployment of that program', async () => {
  const project = join(folder, 'embed'); // resolves the package from the parent folder
  await cp(join(packageRoot, 'examples/embed'), project, {
    recursive: true,
    filter: (path) => !/[\\/](node_modules|build)$/.test(path),
  });
  await using shop = await startExample(project);
  assert.match(
    await (await fetch(`${shop.url}/reviews`)).text(),
    /"label":"positive".*"label":"negative".*"label":"neutral"/,
  );
  assert.is(await shop.stop(), 0, shop.output());
});

Package('has types that strict TypeScript accepts, including its declaration files', async () => {
  await writeFile(join(folder, 'host.mts'), HOST_CODE);
  await writeFile(join(folder, 'plugin.mts'), PLUGIN_CODE);
  const options = [
    '--noEmit',
    '--singleThreaded',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--lib',
    'es2023,esnext.disposable',
    '--types',
    'node',
  ];
  const compiler = join(packageRoot, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, compiler, ...options, 'host.mts', 'plugin.mts').catch(
    (error: { stdout: string }) => error,
  );
  assert.is(stdout, '');
});

Package.run();
