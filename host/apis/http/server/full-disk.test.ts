import { readdirSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { smallDisk } from '../../../test/helpers/small-disk.ts';
import { skip } from '../../../test/skip.ts';
import { startServer } from '../fixtures/test-server.ts';

const Disk = suite('uploads to a full disk');

const disk = smallDisk(64);
if (!disk) skip('uploads to a full disk', 'this user may not mount a file system');
else {
  const { folder } = disk;
  Disk.after(() => disk[Symbol.dispose]());

  Disk('are answered with 503 DiskFullException, leave nothing, and the next one that fits succeeds', async () => {
    await using at = await startServer({ tempDir: folder });
    const send = async (bytes: number): Promise<{ status: number; body: Record<string, unknown> }> => {
      const form = new FormData();
      form.set('clip', new Blob([new Uint8Array(bytes)]), 'a.webm');
      form.set('body', '{"video":{"content":"clip"}}');
      const response = await fetch(`${at.url}/video/size`, { method: 'POST', body: form });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const full = await send(140_000);
    assert.equal([full.status, full.body['error']], [503, 'DiskFullException']);
    assert.equal(readdirSync(folder), []);
    const next = await send(20_000);
    assert.equal([next.status, next.body['bytes']], [200, 20_000]);
    assert.equal(readdirSync(folder), []);
  });
}

Disk.run();
