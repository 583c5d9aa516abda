// Uploaded files reach a deployment of the whole application, in direct and in deferred requests.
import { createHash, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaApp } from 'aana-host';
import { ReaderDeployment } from './fixtures/reader-deployment.ts';
import { makeApp, makeFolder, started } from './fixtures/test-app.ts';

const Uploads = suite('uploaded files');
const folder = makeFolder();
let app: AanaApp;

Uploads.before(async () => {
  app = makeApp(folder);
  app.registerDeployment('reader', ReaderDeployment.options({}));
  app.registerEndpoint({
    name: 'read',
    path: '/read',
    summary: 'Reads files',
    input: z.strictObject({ names: z.array(z.string().meta({ 'x-aana-file': true })) }),
    output: z.any(),
    run: async ({ names }, context) => {
      const reader = app.handle(ReaderDeployment, 'reader');
      return Promise.all(
        names.map(async (name) => {
          const { artifact, path = '', bytes } = context.files.get(name) ?? {};
          if (!artifact) throw new Error(`${name} is no artifact`);
          return {
            id: artifact.id,
            told: [bytes, artifact.bytes, artifact.sha256],
            here: (await readFile(path)).length,
            there: await reader.read({ file: artifact }, context),
          };
        }),
      );
    },
  });
  await started(app);
});
Uploads.after(async () => {
  await app.shutdown();
  rmSync(folder, { recursive: true, force: true });
});

const files = { large: randomBytes(3_000_001), small: Buffer.from('a few bytes'), empty: Buffer.alloc(0) };

async function send(query = ''): Promise<ReturnType<typeof JSON.parse>> {
  const form = new FormData();
  form.set('large', new Blob([files.large]), '../../large.bin'); // before the field that names it, as clients may
  form.set('body', JSON.stringify({ names: Object.keys(files) }));
  form.set('small', new Blob([files.small]));
  form.set('empty', new Blob([files.empty]));
  const response = await fetch(`${app.url}/read${query}`, { method: 'POST', body: form });
  const text = await response.text();
  assert.is(response.status, 200, text);
  return JSON.parse(text);
}

function assertRead(
  answer: readonly {
    readonly id: string;
    readonly told: readonly unknown[];
    readonly here: number;
    readonly there: object;
  }[],
): void {
  const expected = Object.values(files).map((content) => ({
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
  }));
  assert.equal(
    answer.map(({ told, here, there }) => ({ told, here, there })),
    expected.map(({ bytes, sha256 }) => ({ told: [bytes, bytes, sha256], here: bytes, there: { bytes, sha256 } })),
  );
  assert.is(new Set(answer.map(({ id }) => id)).size, 3);
}

Uploads('are artifacts that a deployment opens, with the checksum of the sent bytes', async () => {
  assertRead(await send());
});

Uploads('of a deferred request are artifacts, too', async () => {
  const { task_id: task } = await send('?defer=true');
  let found: { status: string; result: never };
  do {
    found = (await (await fetch(`${app.url}/tasks/${task}`)).json()) as typeof found;
  } while (!['completed', 'failed'].includes(found.status));
  assert.is(found.status, 'completed', JSON.stringify(found.result));
  assertRead(found.result);
});

Uploads.run();
