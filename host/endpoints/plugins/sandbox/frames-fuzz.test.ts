// Changed frames to a process of the sandbox: it may refuse them and end with a sentence, but never crash or hang.
import { randomInt } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { spawnContained } from '../../../base/processes/index.ts';
import { compileComponent } from './compiled-code.ts';
import { codeFolder, endpoint, output, sandbox, waiting, withWat } from './fixtures/serve-component.ts';
import { randomOf } from './fixtures/random-of.ts';
import { frameKind, frameOf, FrameReader } from './frames.ts';
import { readCbor } from './cbor.ts';

const Frames = suite('changed frames to the sandbox');
const limits = [1_000, 1_000, 10, 10, 1_000, 1_000];

interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly said: string;
  /** Kinds of the frames that came. */
  readonly kinds: readonly number[];
}

/** Starts a process, sends bytes and then an ordinary run, whose call is answered. Resolves when it has ended. */
async function converse(code: string, bytes: Uint8Array): Promise<Ending> {
  const file = await open(code);
  const args = ['serve', `endpoint=${endpoint}`, `output=${output}`, 'slots=4', 'warm-slots=0'];
  const child = spawnContained(sandbox.program, args, {
    ...{ stdio: ['ignore', 'ignore', 'pipe', file.fd, 'pipe'], env: {} },
  });
  await file.close();
  const socket = child.stdio[4] as Socket;
  const reader = new FrameReader();
  const kinds: number[] = [];
  let said = '';
  const last = 4_000_000_000;
  let timer: NodeJS.Timeout | undefined;
  child.stderr!.on('data', (data: Buffer) => (said += data.toString()));
  socket.on('error', () => {});
  socket.on('data', (data: Buffer) => {
    for (const { invocation, kind, payload } of reader.take(data)) {
      kinds.push(kind);
      if (kind === frameKind.ready) {
        socket.write(bytes);
        socket.write(frameOf(last, frameKind.run, [], [1, limits, ['go', '{}']]));
        // Bytes that begin a long frame swallow what follows. The end of the socket then ends the process.
        timer = setTimeout(() => socket.end(), 400);
      }
      if (kind === frameKind.call) socket.write(frameOf(invocation, frameKind.answer, [payload.readUInt32LE(0)], 7));
      if (kind >= frameKind.returned && kind <= frameKind.printed && kind !== frameKind.drop && payload.length > 6)
        readCbor(kind === frameKind.call ? payload.subarray(10) : payload);
      if (invocation === last && (kind === frameKind.returned || kind === frameKind.failed)) socket.end();
    }
  });
  const ending = await new Promise<Omit<Ending, 'said' | 'kinds'>>((resolve) =>
    child.once('close', (exit, signal) => resolve({ code: exit, signal })),
  );
  clearTimeout(timer);
  return { ...ending, said, kinds };
}

Frames('a process refuses them and serves on, or ends with a sentence', async () => {
  const seed = Number(process.env['AANA_TEST_SEED'] ?? randomInt(2 ** 31));
  const cases = Number(process.env['AANA_TEST_CASES'] ?? 60);
  process.stdout.write(`seed ${seed}\n`);
  const random = randomOf(seed);
  await withWat(waiting, async (component) => {
    const { code } = await compileComponent({ sandbox, plugin: 'test', component }, codeFolder);
    const good = [
      frameOf(1, frameKind.run, [], [1, limits, ['go', '{}']]),
      frameOf(2, frameKind.run, [], [0, limits, []]),
      frameOf(1, frameKind.answer, [1], 7),
      frameOf(1, frameKind.refuse, [1], 'a reason'),
      frameOf(1, frameKind.credit, [100]),
      frameOf(2, frameKind.cancel, []),
    ];
    const whole = await converse(code, Buffer.concat([good[0]!, good[1]!]));
    assert.equal([whole.code, whole.signal, whole.said], [0, null, '']);
    assert.is(whole.kinds.filter((kind) => kind === frameKind.returned).length, 3);
    let refused = 0;
    for (let n = 0; n < cases; n++) {
      const bytes = Buffer.concat(Array.from({ length: 1 + random(4) }, () => good[random(good.length)]!));
      for (let changes = random(4); changes >= 0; changes--) {
        // The length of the first frame is changed in a part of the cases only, because most then swallow the rest.
        const at = random(8) === 0 ? random(4) : 4 + random(bytes.length - 4);
        bytes[at] = random(256);
      }
      const { code: exit, signal, said, kinds } = await converse(code, bytes);
      const what = `case ${n} of seed ${seed}: ${exit} ${signal} ${said}`;
      assert.is(signal, null, what);
      assert.ok((exit === 0 && said === '') || (exit === 4 && said.trim() !== ''), what);
      if (exit === 4 || kinds.includes(frameKind.failed)) refused++;
    }
    assert.ok(refused > cases / 6, `only ${refused} were refused`);
  });
});

Frames('frames are the same in chunks of any size', () => {
  const random = randomOf(randomInt(2 ** 31));
  const sent = Array.from({ length: 30 }, (_, n) => frameOf(n, frameKind.tell, [], Buffer.alloc(random(200_000), n)));
  const bytes = Buffer.concat(sent);
  for (const most of [2, 100, 100_000, bytes.length]) {
    const reader = new FrameReader();
    const got: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + random(most);
      for (const { invocation, payload } of reader.take(bytes.subarray(at, end))) {
        assert.is(invocation, got.length);
        got.push(payload);
      }
      at = end;
    }
    assert.is(got.length, sent.length);
    got.forEach((payload, n) => assert.ok(payload.equals(sent[n]!.subarray(9)), `frame ${n} differs`));
  }
});

Frames('a reader keeps nothing of a large frame that it has cut', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const reader = new FrameReader();
  const large = 64 * 1024 * 1024;
  for (const part of [frameOf(1, frameKind.tell, [], Buffer.alloc(large)), Buffer.of(9)]) reader.take(part);
  assert.is(reader.incompleteBytes, 1);
  // V8 frees buffers in another thread after it has collected.
  for (let tries = 0; process.memoryUsage().arrayBuffers >= large; tries++) {
    assert.ok(tries < 200, 'the frame is still there');
    collect();
    await delay(10);
  }
});

Frames.run();
