// Copies of artifacts of another process: real files in two folders, and a connection that may do anything wrong.
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError, cancelledError } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import type { Artifact } from '../../base/schemas/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { smallDisk } from '../../test/helpers/small-disk.ts';
import { Random } from '../../test/simulation/random.ts';
import { skip } from '../../test/skip.ts';
import { until } from '../../inference/replicas/fixtures/sample-sets.ts';
import { ArtifactCopies, type ReadBytes } from './artifact-copies.ts';
import { artifactOf, readArtifact } from './index.ts';

const Copies = suite('copies of artifacts');

const KIB = 1024;
let base = '';
let root = '';
let folder = '';
let copies: ArtifactCopies;
let read: ReadBytes;

Copies.before.each(async () => {
  base = await mkdtemp(join(tmpdir(), 'aana-copies-'));
  root = join(base, 'host');
  folder = join(base, 'replica');
  await mkdir(join(root, 'scope'), { recursive: true });
  copies = new ArtifactCopies({ folder, read: (id, from) => read(id, from), log: silentLogger });
});
Copies.after.each(async () => {
  await copies.close();
  await rm(base, { recursive: true });
});

let count = 0;
async function made(bytes: Buffer): Promise<Artifact> {
  const path = join(root, 'scope', `${(count += 1)}`);
  await writeFile(path, bytes);
  return await artifactOf(root, path, createHash('sha256').update(bytes).digest('hex'));
}

/** Returns how a process that has the files answers for a call with these arguments. */
const answering =
  (args: Record<string, unknown>, signal = new AbortController().signal): ReadBytes =>
  (id, from) =>
    readArtifact(args, { id, from }, [root], signal);

/** Names of all files that the replica has. */
const left = (): string[] =>
  existsSync(folder) ? readdirSync(folder).flatMap((own) => readdirSync(join(folder, own))) : [];

/** What a connection or the process at its other end may do with an answer. */
const FAULTS: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  'another byte': (bytes) => bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 1 : byte)),
  'an early end': () => new Uint8Array(0),
  'more bytes': (bytes) => Buffer.concat([bytes, Buffer.alloc(300 * KIB)]),
  'a failure': () => {
    throw cancelledError('the caller is gone');
  },
  'a smaller part': (bytes) => bytes.subarray(0, Math.max(1, bytes.length - 1)),
};

for (const seed of [1, 2, 3, 4, 5, 6])
  Copies(`have the bytes of the artifact or are not there, with faults from seed ${seed}`, async () => {
    const random = new Random(seed);
    for (let round = 0; round < 12; round += 1) {
      const bytes = randomBytes(random.pick([0, 1, 512 * KIB - 1, 512 * KIB, 512 * KIB + 1, random.int(0, 2e6)]));
      const artifact = await made(bytes);
      const answer = answering({ artifact });
      const fault = random.pick(Object.keys(FAULTS) as [string, ...string[]]);
      const place = random.int(0, Math.floor(bytes.length / (512 * KIB)));
      let answers = 0;
      read = async (id, from) => {
        const right = await answer(id, from);
        return answers++ === place ? (FAULTS[fault]?.(right) ?? right) : right;
      };
      const readers = Array.from({ length: random.int(1, 3) }, () =>
        copies.path(artifact).catch((error: unknown) => error),
      );
      const [path, ...others] = await Promise.all(readers);
      for (const other of others) assert.is(other, path, 'they share it');
      const what = `${fault} in answer ${place} of ${bytes.length} bytes`;
      if (fault === 'a smaller part' || bytes.length === 0) assert.type(path, 'string', what);
      if (typeof path === 'string') {
        assert.ok((await readFile(path)).equals(bytes), what);
      } else {
        assert.instance(path, AanaError, what);
        const { name, kind } = path as AanaError;
        assert.ok(name === 'ArtifactNotFound' || kind === 'cancelled', `${name} after ${what}`);
        await until(() => left().length === 0, `nothing is left after ${what}`);
        const again = await copies.path(artifact);
        assert.ok((await readFile(again)).equals(bytes), `again after ${what}`);
      }
      copies.removeUnless(() => false);
      await until(() => left().length === 0, 'nothing is left when no call names it');
    }
  });

Copies('stay while a call names them', async () => {
  const [one, other] = [await made(randomBytes(10)), await made(randomBytes(20))];
  read = answering({ one, other });
  const [kept, gone] = [await copies.path(one), await copies.path(other)];
  copies.removeUnless((id) => id === one.id);
  await until(() => !existsSync(gone), 'the other one is gone');
  assert.ok(existsSync(kept));
  await copies.close();
  assert.not(existsSync(kept));
  assert.equal(readdirSync(folder), []);
});

Copies('do not mix artifacts of the same id', async () => {
  const artifact = await made(randomBytes(10));
  read = answering({ artifact });
  await copies.path(artifact);
  const claimed = { ...artifact, sha256: '0'.repeat(64) };
  assert.match((await errorOf(copies.path(claimed))).message, 'its bytes have another SHA-256');
});

/** Audio of two channels that a decoder of the host writes. */
function decoding(name: string) {
  const ids = [`scope/${name}-0.f32`, `scope/${name}-1.f32`];
  const end = `scope/${name}.end`;
  const args = {
    audio: {
      channels: ids.map((id) => ({ artifact: { id } })),
      sample_rate: 16_000,
      growing: { end, expected_samples: 5 },
    },
  };
  return {
    ...{ ids, end, args },
    write: (part: Buffer) => Promise.all(ids.map((id) => appendFile(join(root, id), part))),
    finish: async (samples: readonly number[]) => {
      await writeFile(join(root, `${end}.part`), samples.join(' '));
      await rename(join(root, `${end}.part`), join(root, end));
    },
    fail: () => Promise.all(ids.map((id) => rm(join(root, id)))),
  };
}

const sizes = (files: readonly string[]): Promise<number[]> =>
  Promise.all(files.map(async (file) => (await stat(file)).size));

for (const seed of [1, 2, 3])
  Copies(`of audio grow as it does, also in odd parts, from seed ${seed}`, async () => {
    const random = new Random(seed);
    const audio = decoding('grows');
    read = answering(audio.args);
    await audio.write(Buffer.alloc(0));
    const grown = await copies.growing(audio.ids, audio.end);
    const { files, end, failure } = grown;
    assert.is(await copies.growing(audio.ids, audio.end), grown, 'they are shared');
    const parts: Buffer[] = [];
    for (let part = 0; part < 8; part += 1) {
      const bytes = randomBytes(random.int(0, 600 * KIB));
      parts.push(bytes);
      await audio.write(bytes);
      const total = Buffer.concat(parts).length;
      await until(async () => (await sizes(files)).every((size) => size === total), `${total} bytes are there`);
      assert.not(existsSync(end));
    }
    const odd = Buffer.concat(parts).length % 4;
    const last = randomBytes(4 - odd);
    await audio.write(last);
    const whole = Buffer.concat([...parts, last]);
    await audio.finish([whole.length / 4, whole.length / 4]);
    await until(() => existsSync(end), 'the end is told');
    assert.is(readFileSync(end, 'utf8'), `${whole.length / 4} ${whole.length / 4}`);
    for (const file of files) assert.ok(readFileSync(file).equals(whole));
    assert.is(failure(), undefined);
    copies.removeUnless(() => false);
    await until(() => left().length === 0, 'nothing is left');
  });

Copies('of audio are removed when its decoder fails, or lacks bytes, or the calls are cancelled', async () => {
  const cancelling = new AbortController();
  const ways: Readonly<Record<string, (audio: ReturnType<typeof decoding>) => Promise<unknown>>> = {
    fails: (audio) => audio.fail(),
    lacks: (audio) => audio.finish([2, 3]),
    'is-odd': (audio) => audio.finish([2, Number.NaN]),
    cancelled: async () => cancelling.abort(cancelledError('the client left')),
  };
  const reasons: Readonly<Record<string, string>> = {
    fails: 'its file is not there any more',
    lacks: '8 bytes of it came, for 3 samples',
    'is-odd': '8 bytes of it came, for NaN samples',
    cancelled: 'the client left',
  };
  for (const [name, end] of Object.entries(ways)) {
    const audio = decoding(name);
    read = answering(audio.args, cancelling.signal);
    await audio.write(Buffer.alloc(8));
    const { files, end: endFile, failure } = await copies.growing(audio.ids, audio.end);
    await until(async () => (await sizes(files)).every((size) => size === 8), 'the first bytes are there');
    await end(audio);
    await until(() => files.every((file) => !existsSync(file)), `the files are gone: ${name}`);
    assert.not(existsSync(endFile));
    assert.match(String((failure() as Error).message), reasons[name] ?? '', name);
  }
});

Copies('need a folder in which this process can write, and say which', async () => {
  await writeFile(folder, 'a file');
  const artifact = await made(randomBytes(10));
  read = answering({ artifact });
  for (const opening of [copies.path(artifact), copies.growing(['a/b'], 'a/end')])
    assert.match((await errorOf(opening)).message, `a copy cannot be written to ${folder}`);
});

const disk = smallDisk(128);
if (!disk) skip('copies of artifacts on a full disk', 'this user may not mount a file system');
else {
  Copies.after(() => disk[Symbol.dispose]());
  Copies('that find no space are refused, leave nothing, and the next one that fits is made', async () => {
    const small = new ArtifactCopies({ folder: disk.folder, read: (id, from) => read(id, from), log: silentLogger });
    const [large, fitting] = [await made(randomBytes(400 * KIB)), await made(randomBytes(20 * KIB))];
    read = answering({ large, fitting });
    const error = await errorOf(small.path(large));
    assert.is(error.name, 'DiskFullException');
    assert.equal(error.data, { directory: disk.folder });
    const path = await small.path(fitting);
    assert.is((await stat(path)).size, 20 * KIB);
    await until(() => readdirSync(dirname(path)).length === 1, 'the other one is gone');
    const audio = decoding('large');
    read = answering(audio.args);
    await audio.write(Buffer.alloc(100 * KIB));
    const { files, failure } = await small.growing(audio.ids, audio.end);
    await until(() => files.every((file) => !existsSync(file)), 'the audio is removed');
    assert.is((failure() as AanaError).name, 'DiskFullException');
    await small.close();
    assert.equal(readdirSync(disk.folder), []);
  });
}

Copies.run();
