// Requests that keep files, on a server whose folder of data is on a full disk.
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { VideoInput } from '../base/schemas/index.ts';
import { smallDisk } from '../test/helpers/small-disk.ts';
import { skip } from '../test/skip.ts';
import { until } from '../test/helpers/server.ts';
import { makeApp, makeFolder, postJson, started } from './fixtures/test-app.ts';

const FILE = new Blob([new Uint8Array(100_000)]);

const Disk = suite('a full folder of data');
const disk = smallDisk(256);
if (!disk) skip('a full folder of data', 'this user may not mount a file system');
else {
  Disk.after(() => disk[Symbol.dispose]());

  Disk('is told as such by every request that keeps a file, and nothing of the file is left', async () => {
    const folder = makeFolder();
    const app = makeApp(
      folder,
      {},
      {
        data_dir: disk.folder,
        cache_dir: process.env['AANA_CACHE_DIR'] ?? folder,
        db_config: { datastore_config: { path: join(folder, 'aana.db') } },
      },
    );
    app.registerEndpoint({
      ...{ name: 'count', path: '/count', input: z.object({ video: VideoInput }), output: z.number() },
      run: async () => 1,
    });
    await started(app);
    try {
      const form = (name: string, fields: Readonly<Record<string, string>>): FormData => {
        const made = new FormData();
        for (const [field, value] of Object.entries(fields)) made.set(field, value);
        made.set(name, FILE, 'a.jsonl');
        return made;
      };
      const upload = (await (
        await postJson(`${app.url}/v1/uploads`, { filename: 'a', purpose: 'batch', bytes: 100_000, mime_type: 'a/b' })
      ).json()) as { id: string };
      const requests: readonly (() => Promise<Response>)[] = [
        () =>
          fetch(`${app.url}/count?defer=true`, {
            method: 'POST',
            body: form('clip', { body: '{"video":{"content":"clip"}}' }),
          }),
        () => fetch(`${app.url}/v1/files`, { method: 'POST', body: form('file', { purpose: 'batch' }) }),
        () => fetch(`${app.url}/v1/uploads/${upload.id}/parts`, { method: 'POST', body: form('data', {}) }),
      ];
      const filler = join(disk.folder, 'filler');
      const hasRoom = async (): Promise<boolean> => {
        const { blocks, bfree } = statfsSync(disk.folder);
        return bfree === blocks;
      };
      for (const request of requests) {
        await until(hasRoom); // a removed file takes room until the task before has closed it
        try {
          writeFileSync(filler, new Uint8Array(1_000_000));
        } catch {
          // The disk is full now.
        }
        const full = await request();
        assert.is(full.status, 503, await full.clone().text());
        assert.match(await full.text(), /there is no space left on a disk of the server/);
        rmSync(filler);
        const left = readdirSync(disk.folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
        assert.equal(
          left.map(({ name }) => name),
          [],
        );
        const next = await request();
        assert.ok([200, 202].includes(next.status), `${next.status}: ${await next.text()}`);
        for (const one of readdirSync(disk.folder)) rmSync(join(disk.folder, one), { recursive: true });
      }
    } finally {
      await app.shutdown({ graceMs: 0 });
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

Disk.run();
