import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { denyAllWasi } from './wasi.ts';

interface Stream {
  write(bytes: Uint8Array): void;
  blockingWriteAndFlush(bytes: Uint8Array): void;
}

const Wasi = suite('the stand-in for WASI');

for (const name of ['stdout', 'stderr'] as const) {
  Wasi(`takes the beginning of a large write to ${name}, and nothing of an empty one`, () => {
    const written: string[] = [];
    const given = denyAllWasi((text) => written.push(text))(`wasi:cli/${name}`);
    const stream = (given[name === 'stdout' ? 'getStdout' : 'getStderr'] as () => Stream)();
    stream.write(new TextEncoder().encode('héllo'));
    stream.write(new Uint8Array(100 * 1024 * 1024).fill(0x78));
    for (let n = 0; n < 1000; n++) stream.blockingWriteAndFlush(new Uint8Array());
    assert.equal(
      written.map((text) => text.length),
      [5, 8192],
    );
  });
}

Wasi.run();
