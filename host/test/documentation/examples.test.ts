// Sends the examples of the document unchanged: each example of a request, and each sample of code, which its program
// runs.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { oas31 } from 'openapi3-ts';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { findFileReferences } from '../../endpoints/registry/index.ts';
import { startVariedApp, type VariedApp } from '../helpers/varied-app.ts';
import { skip } from '../skip.ts';

const run = promisify(execFile);
const Examples = suite('examples and code samples of the OpenAPI document');
let varied: VariedApp;
let folder = '';
let posts: readonly { path: string; operation: oas31.OperationObject }[] = [];

Examples.before(async () => {
  varied = await startVariedApp();
  folder = await mkdtemp(join(tmpdir(), 'aana-samples-'));
  const { paths } = (await (await fetch(`${varied.url}/openapi.json`)).json()) as { paths: oas31.PathsObject };
  posts = Object.entries(paths).flatMap(([path, { post }]) =>
    post?.['x-aana-endpoint'] ? [{ path, operation: post }] : [],
  );
  for (const name of ['video', 'files', 'file']) await writeFile(join(folder, `${name}.mp4`), `content of ${name}`);
});
Examples.after(async () => {
  await varied[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Returns the status with which an endpoint of the varied application answers a valid request. */
const expected = (path: string): number => (path === '/refuse' ? 400 : 200);

Examples('every example is answered as the document says, in each content type', async () => {
  let sent = 0;
  for (const { path, operation } of posts) {
    for (const [type, { example }] of Object.entries((operation.requestBody as oas31.RequestBodyObject).content)) {
      if (example === undefined) continue;
      const response = await fetch(`${varied.url}${path}`, {
        method: 'POST',
        ...requestOf(type, example, varied.app.endpoints.find((one) => one.path === path)?.inputSchema ?? {}),
      });
      assert.is(response.status, expected(path), `${path} ${type}: ${await response.text()}`);
      assert.ok(operation.responses?.[String(response.status)], `${path}: ${response.status} is documented`);
      sent += 1;
    }
  }
  assert.ok(sent > 20, `${sent} examples`);
});

function requestOf(
  type: string,
  example: Record<string, unknown>,
  schema: object,
): { body: FormData | URLSearchParams | string; headers?: Record<string, string> } {
  if (type === 'application/json') return { body: JSON.stringify(example), headers: { 'content-type': type } };
  const json = JSON.stringify(example['body']);
  if (type === 'application/x-www-form-urlencoded') return { body: new URLSearchParams({ body: json }) };
  const body = new FormData();
  body.set('body', json);
  for (const { name } of findFileReferences(schema, example['body'])) body.set(name, new Blob(['content']), 'file');
  return { body };
}

interface Sample {
  readonly path: string;
  readonly source: string;
}

function samples(label: string): Sample[] {
  return posts.flatMap(({ path, operation }) => {
    const found = (operation['x-codeSamples'] as { label: string; source: string }[]).filter(
      (one) => one.label === label,
    );
    assert.is(found.length, 1, `${path} has a sample for ${label}`);
    return found.map(({ source }) => ({ path, source }));
  });
}

/** Runs each sample. Each must succeed and make one request that is answered with the expected status. */
async function runSamples(label: string, start: (source: string) => Promise<{ stdout: string }>): Promise<void> {
  for (const { path, source } of samples(label)) {
    const before = varied.logged.length;
    const { stdout } = await start(source);
    const requests = varied.logged
      .slice(before)
      .map((line) => JSON.parse(line) as { message: string; path: string; status: number });
    assert.equal(
      requests.filter(({ message }) => message === 'request').map((one) => [one.path, one.status]),
      [[path, expected(path)]],
      `${source}\n${stdout}`,
    );
    assert.ok(stdout.trim().length > 1, source);
  }
}

Examples('every sample for curl runs', () =>
  runSamples('curl', (source) => run('bash', ['-c', source], { cwd: folder, timeout: 30_000 })),
);

Examples('every sample in TypeScript runs', () =>
  runSamples('TypeScript', async (source) => {
    await writeFile(join(folder, 'sample.mjs'), source);
    return run(process.execPath, ['sample.mjs'], { cwd: folder, timeout: 30_000 });
  }),
);

Examples('every sample in TypeScript compiles under strict', async () => {
  const files = await Promise.all(
    samples('TypeScript').map(async ({ source }, n) => {
      const file = join(folder, `sample${n}.mts`);
      await writeFile(file, source);
      return file;
    }),
  );
  const types = join(packageRoot, 'node_modules/@types');
  const compiled = run(
    process.execPath,
    [
      join(packageRoot, 'node_modules/typescript/bin/tsc'),
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--target',
      'es2023',
      '--module',
      'nodenext',
      '--typeRoots',
      types,
      '--types',
      'node',
      ...files,
    ],
    { cwd: folder },
  );
  await compiled.catch(({ stdout }: { stdout: string }) => assert.unreachable(stdout));
});

Examples('every sample in Python runs', async () => {
  const missing = await run('python3', ['-c', 'import requests']).then(
    () => false,
    () => true,
  );
  if (missing) return skip('samples in Python', 'Python with the package requests is missing');
  await runSamples('Python', (source) => run('python3', ['-c', source], { cwd: folder, timeout: 30_000 }));
});

Examples.run();
