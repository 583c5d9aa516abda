import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OutputRing } from './output-ring.ts';

const Ring = suite('output ring');

const offer = (ring: OutputRing, chunk: string): boolean => ring.offer(chunk, Buffer.byteLength(chunk));

/** Both ends of one ring. */
function ends(): { writer: OutputRing; reader: OutputRing } {
  const writer = new OutputRing();
  return { writer, reader: new OutputRing(writer.memory) };
}

Ring('chunks come out whole and in order, also where they go round its end', () => {
  const { writer, reader } = ends();
  const sizes = [0, 1, 3, 4, 5, 1000, 4093, 9001];
  for (let n = 0; n < 500; n++) {
    const chunk = `${n}${'ä'.repeat(sizes[n % sizes.length]!)}語`;
    assert.ok(offer(writer, chunk));
    assert.is(reader.read(), chunk);
    reader.release();
  }
  assert.is(reader.read(), undefined);
});

Ring('it takes no more than it has room for, until the room is given back', () => {
  const { writer, reader } = ends();
  let held = 0;
  while (offer(writer, 'x'.repeat(1000))) held++;
  assert.ok(held >= 30 && held <= 32, `it held ${held}`);
  assert.is(reader.read()?.length, 1000);
  assert.not.ok(offer(writer, 'x'.repeat(1000)), 'what is read but not released keeps its room');
  reader.release();
  assert.ok(offer(writer, 'x'.repeat(1000)));
  assert.not.ok(offer(writer, 'x'.repeat(1000)));
});

Ring('a chunk that is larger than it is never taken', () => {
  assert.not.ok(offer(new OutputRing(), 'x'.repeat(33_000)));
});

Ring('the reader is told once until it rests, and does not rest while there is something', () => {
  const { writer, reader } = ends();
  offer(writer, 'a');
  assert.ok(writer.mustTell());
  offer(writer, 'b');
  assert.not.ok(writer.mustTell());
  assert.is(reader.read(), 'a');
  assert.not.ok(reader.rest());
  assert.is(reader.read(), 'b');
  assert.ok(reader.rest());
  offer(writer, 'c');
  assert.ok(writer.mustTell());
});

Ring('what was left in it is gone when it is cleared', () => {
  const { writer, reader } = ends();
  offer(writer, 'old');
  reader.clear();
  assert.is(reader.read(), undefined);
  offer(writer, 'new');
  assert.ok(writer.mustTell());
  assert.is(reader.read(), 'new');
});

Ring.run();
