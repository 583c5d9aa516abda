import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { smallDisk } from '../../../test/helpers/small-disk.ts';
import { skip } from '../../../test/skip.ts';
import { LIMITS, startServer } from '../fixtures/test-server.ts';

const Disk = suite('uploads to a full disk');

const MIB = 1024 * 1024;
const disk = smallDisk(64);
const larger = smallDisk(32 * 1024);
if (!disk || !larger) skip('uploads to a full disk', 'this user may not mount a file system');
else {
  const { folder } = disk;
  Disk.after(() => {
    disk[Symbol.dispose]();
    larger[Symbol.dispose]();
  });

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

  Disk('are refused before the disk is full: at once if they say their length, otherwise as they grow', async () => {
    const limits = { ...LIMITS, max_body_bytes: 64 * MIB, max_file_bytes: 64 * MIB };
    await using at = await startServer({ tempDir: larger.folder, limits });
    const begin = (headers: Record<string, string | number>) => {
      const sending = request(`${at.url}/video/size`, {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=b', ...headers },
      });
      sending.on('error', () => {}); // a refused one is closed while it is sent
      const answer = new Promise<unknown[]>((resolve) => {
        sending.once('response', async (response) => {
          const { error } = (await json(response)) as { error?: string };
          resolve([response.statusCode, error]);
        });
      });
      sending.write('--b\r\ncontent-disposition: form-data; name="body"\r\n\r\n{"video":{"content":"clip"}}\r\n');
      sending.write('--b\r\ncontent-disposition: form-data; name="clip"; filename="a"\r\ncontent-type: a/b\r\n\r\n');
      return { sending, answer };
    };
    const refused = [503, 'DiskFullException'];
    const announced = begin({ 'content-length': 31 * MIB });
    assert.equal(await announced.answer, refused);
    announced.sending.destroy();
    // Together they would fit, but leave less than a twentieth of the disk.
    const growing = Array.from({ length: 2 }, () => begin({}));
    for (let pieces = 0; pieces < 15; pieces++)
      for (const { sending } of growing)
        if (!sending.destroyed) await new Promise((resolve) => sending.write(Buffer.alloc(MIB), resolve));
    for (const { sending } of growing)
      sending.end(Buffer.concat([Buffer.alloc(MIB / 2), Buffer.from('\r\n--b--\r\n')]));
    const answers = await Promise.all(growing.map(({ answer }) => answer));
    assert.ok(
      answers.some((answer) => answer.join() === refused.join()),
      JSON.stringify(answers),
    );
    assert.equal(readdirSync(larger.folder), []);
  });
}

Disk.run();
