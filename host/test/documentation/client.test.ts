// A client is generated from a server, compiled as a user would compile it, and used with that server.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { linkDependencies, runNode } from '../helpers/plugin-project.ts';
import { startVariedApp, type VariedApp } from '../helpers/varied-app.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const Client = suite('aana-host client');
let varied: VariedApp;
let project = '';

const USE = `
import { ApiError, Client, openFile, type GrowTreeResponse, type ListColoursRequest } from './client.ts';

const client = new Client({ apiKey: 'unused' });
const say = (what: string, value: unknown): void => console.log(JSON.stringify([what, value]));
const failureOf = (error: unknown): unknown => {
  if (!(error instanceof ApiError)) return String(error);
  return [error.status, error.error, error.validation.map(({ loc }) => loc)];
};

const { name, of } = await client.mixColours({ colours: [{ name: 'red' }, { name: 'blue', alpha: 0 }] });
say('mixed', [name, of.length]);
const names: string[] = (await client.listColours({ colours: [{ name: 'red' }] })).names;
const csv: 'text/csv' = (await client.listColours({ colours: [{ name: 'red' }], format: 'csv' })).media_type;
const input: ListColoursRequest = { colours: [{ name: 'é' }], format: 'html' };
const either = await client.listColours(input);
const tabled = await (await client.deferListColours({ colours: [{ name: 'red' }], format: 'csv' })).wait();
// @ts-expect-error the answer is a text
say('listed colours', [names, csv, either, tabled.names, tabled.text]);
const tree = { label: 'root', children: [{ label: 'é' }] };
const grown: GrowTreeResponse = await client.growTree({ tree, pair: ['a', 1] });
say('grown', grown.leaves);

const clip = await openFile(process.argv[2] ?? '');
say('described', await client.describeVideo({ video: { content: clip } }));
const files = [{ file: new Blob(['one ']) }, { file: 'two' }, { file: clip, times: 2 }];
say('joined', await client.joinFiles({ files }, { files: { two: new Blob(['two ']) } }));

const counted: number[] = [];
for await (const { n } of client.countStream({ until: 4 })) counted.push(n);
say('counted', counted);
for await (const { n } of client.countStream({ until: 200, pause_ms: 50 })) if (n === 1) break;
try {
  for await (const { n } of client.countStream({ until: 4, fail_at: 2 })) counted.push(n);
} catch (error) {
  say('stream failed', [counted.length, failureOf(error)]);
}
say('refused', await client.refuse({ kind: 'denied' }).catch(failureOf));
// @ts-expect-error a colour is missing
say('invalid', await client.mixColours({}).catch(failureOf));
// @ts-expect-error there is no such key
say('unknown key', await client.neverKept({ wrong: 1 }).catch(failureOf));
const signal = AbortSignal.abort(new Error('enough'));
say('aborted', await client.mixColours({ colours: [] }, { signal }).catch(failureOf));

const task = await client.deferCountStream({ until: 3 }, { priority: 1, idempotencyKey: 'once' });
say('same task', (await client.deferCountStream({ until: 3 }, { priority: 1, idempotencyKey: 'once' })).id === task.id);
say('task', (await task.wait()).map(({ n }) => n));
const events: string[] = [];
for await (const { event } of client.task(task.id).events()) events.push(event);
say('events', [events[0], events.at(-1)]);
say('failed task', await (await client.deferCountStream({ until: 3, fail_at: 1 })).wait().catch(failureOf));
const long = await client.deferCountStream({ until: 200, pause_ms: 1000 });
say('cancelled', (await long.cancel()).status);
say('cancelled task', await long.wait().catch(failureOf));
const kept = await client.keepAlways({ words: ['a', 'b'] });
say('kept', (await kept.wait()).count);
say('by id', (await client.task<{ count: number }>(kept.id).get()).status);
say('listed', (await client.listTasks({ status: 'cancelled', per_page: 5 })).tasks.map(({ id }) => id === long.id));
say('no task', await client.getTask({ task_id: '6f2c1c5e-4b0e-4f0e-9d7c-0b8f2f6f1f57' }).catch(failureOf));
say('gone', (await kept.delete()).id === kept.id);
say('ready', await client.isReady());
`;

const ANSWERS = {
  mixed: ['red+blue', 2],
  'listed colours': [['red'], 'text/csv', { media_type: 'text/html', text: '<ul>é</ul>' }, null, 'name\nred\n'],
  grown: 2,
  described: { bytes: 7, filename: 'clip.mp4', text: 'a clip!' },
  joined: { text: 'one two a clip!a clip!' },
  counted: [0, 1, 2, 3],
  'stream failed': [6, [200, 'InferenceException', []]],
  refused: [403, 'RefusedException', []],
  invalid: [422, 'ValidationError', [['colours']]],
  'unknown key': [422, 'ValidationError', [['wrong']]],
  aborted: 'Error: enough',
  'same task': true,
  task: [0, 1, 2],
  events: ['created', 'completed'],
  'failed task': [200, 'InferenceException', []],
  cancelled: 'cancelled',
  'cancelled task': [200, 'TaskCancelled', []],
  kept: 2,
  'by id': 'completed',
  listed: [true],
  'no task': [404, 'NotFoundException', []],
  gone: true,
  ready: { ready: true },
};

const CLI = join(packageRoot, 'bundle/host/cli/main.js');
const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
};
const OPTIONS = {
  ...STRICT,
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true,
  rewriteRelativeImportExtensions: true,
  module: 'nodenext',
  target: 'es2022',
  skipLibCheck: false,
};

/** Runs a program without blocking, because the server is in this process. */
async function run(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, args, { cwd: project, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => (output.stdout += data));
  child.stderr.on('data', (data) => (output.stderr += data));
  const [code] = await once(child, 'close');
  return { code: code as number, ...output };
}

Client.before(async () => {
  varied = await startVariedApp();
  project = await mkdtemp(join(tmpdir(), 'aana-client-'));
  linkDependencies(project);
  await mkdir(join(project, 'src'));
  await writeFile(join(project, 'package.json'), '{"type":"module"}');
  await writeFile(join(project, 'clip.mp4'), 'a clip!');
  await writeFile(join(project, 'src/use.ts'), USE);
  await writeFile(
    join(project, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { ...OPTIONS, lib: ['es2022'], types: ['node'], rootDir: 'src', outDir: 'build' },
      include: ['src'],
    }),
  );
  await writeFile(
    join(project, 'tsconfig.browser.json'),
    JSON.stringify({
      compilerOptions: {
        ...OPTIONS,
        module: 'preserve',
        lib: ['es2022', 'dom', 'dom.iterable'],
        types: [],
        noEmit: true,
      },
      files: ['src/client.ts'],
    }),
  );
});
Client.after(async () => {
  await varied[Symbol.asyncDispose]();
  await rm(project, { recursive: true, force: true });
});

Client("writes the same file from the server's address and from its document", async () => {
  const { code, stdout, stderr } = await run(CLI, 'client', '--url', `${varied.url}/`, '--out', 'src/client.ts');
  assert.equal([code, stdout], [0, 'src/client.ts\n'], stderr);
  await writeFile(join(project, 'openapi.json'), await (await fetch(`${varied.url}/openapi.json`)).text());
  const again = await run(CLI, 'client', '--url', varied.url, '--openapi', 'openapi.json');
  assert.is(again.stdout, await readFile(join(project, 'src/client.ts'), 'utf8'));
});

Client('writes code that is strictly typed in Node and in browsers', () => {
  const compiler = join(packageRoot, 'node_modules/typescript/bin/tsc');
  runNode(project, compiler);
  runNode(project, compiler, '-p', 'tsconfig.browser.json');
});

Client('calls endpoints of every kind', async () => {
  const { code, stdout, stderr } = await run('build/use.js', 'clip.mp4');
  assert.is(code, 0, stderr);
  assert.equal(
    Object.fromEntries(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as [string, unknown]),
    ),
    ANSWERS,
  );
});

Client('explains mistakes in its arguments', async () => {
  await writeFile(join(project, 'other.json'), '{"openapi":"3.0.1"}');
  for (const [args, message] of [
    [['--url', 'nowhere'], /--url: "nowhere" is not an address/],
    [['--url', 'http://127.0.0.1:9'], /no server answers at http:\/\/127\.0\.0\.1:9\/openapi\.json: /],
    [['--url', `${varied.url}/nothing`], /\/nothing\/openapi\.json answered with status 404/],
    [['--openapi', 'absent.json'], /--openapi: absent\.json cannot be read/],
    [['--openapi', 'clip.mp4'], /clip\.mp4 is not JSON/],
    [['--openapi', 'other.json'], /no client can be made: it is not an OpenAPI 3\.1 document/],
    [['--openapi', 'openapi.json', '--out', 'no/folder/x.ts'], /no\/folder\/x\.ts cannot be written/],
  ] as const) {
    const { code, stderr } = await run(CLI, 'client', ...args);
    assert.is(code, 2, stderr);
    assert.match(stderr, message);
  }
});

Client.run();
