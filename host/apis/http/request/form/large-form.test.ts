// Forms that are much too large: their clients can read why they were refused.
import { setTimeout as delay } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connected, head, readAnswers } from '../../fixtures/raw-exchange.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { LIMITS, startServer, type TestServer } from '../../fixtures/test-server.ts';

const Large = suite('forms that are much too large');
const MIB = 1024 * 1024;
const FIELD_BYTES = 64 * MIB;
let at: TestServer;

Large.before(async () => {
  const limits = { ...LIMITS, max_body_bytes: 4 * FIELD_BYTES, max_file_bytes: 4 * MIB };
  at = await startServer({ limits }, { request_timeout_s: 60 }); // a busy machine sends and reads slowly
});
Large.after(async () => at[Symbol.asyncDispose]());
Large.after.each(async () => eventually(() => at.leftovers().length === 0, 'uploads are gone with their request'));

const PART = '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n';
const END = '\r\n--b--\r\n';
const lengthLine = (bytes: number): string => `content-length: ${PART.length + bytes + END.length}`;
const FORM = 'content-type: multipart/form-data; boundary=b';

for (const [title, part] of [
  ['a text', 'x'.repeat(FIELD_BYTES)],
  ['a file', new Blob([new Uint8Array(FIELD_BYTES)])],
] as const)
  Large(`${title} of 64 MB gets its 413, time after time`, async () => {
    for (let n = 0; n < 4; n += 1) {
      const form = new FormData();
      form.append('prompt', part as string);
      const response = await fetch(`${at.url}/video/size`, { method: 'POST', body: form });
      const { error } = (await response.json()) as { error: string };
      assert.equal([response.status, error], [413, 'RequestTooLarge']);
    }
  });

Large('a client that sends for long, and reads afterwards, gets its 413', async () => {
  const pieces = 16;
  const socket = await connected(at.port);
  socket.write(head('/video/size', FORM, lengthLine(pieces * MIB)) + PART);
  for (let n = 0; n < pieces; n += 1) {
    socket.write(Buffer.alloc(MIB, 'x'));
    await delay(250);
  }
  socket.write(END);
  const [answer] = await readAnswers(socket, 1);
  assert.is(answer?.status, 413, 'there is no answer');
  assert.match(answer!.body, 'RequestTooLarge');
  socket.destroy();
});

Large('a client that stops in the middle does not keep its connection', async () => {
  const socket = await connected(at.port);
  socket.write(head('/video/size', FORM, lengthLine(FIELD_BYTES)) + PART);
  socket.write(Buffer.alloc(MIB, 'x'));
  const [answer, ...others] = await readAnswers(socket, 2); // until the connection ends
  assert.equal([answer?.status, others], [413, []]);
});

Large.run();
