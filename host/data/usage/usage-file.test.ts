import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { until } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';
import { UsageFile } from './usage-file.ts';

const Files = suite('the file of usage');
const folder = mkdtempSync(join(tmpdir(), 'aana-usage-'));
Files.after(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
function usageFile(change: { maxBytes?: number; maxFiles?: number; path?: string } = {}) {
  const path = change.path ?? join(folder, `${(made += 1)}`, 'deep', 'usage.jsonl');
  const lost: number[] = [];
  const options = { maxBytes: 1_000_000, maxFiles: 3, log: silentLogger, ...change, path };
  return { path, lost, file: new UsageFile({ ...options, onLost: (records) => lost.push(records) }) };
}
const lines = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);

Files('has every record in its order, and only its user can read it', async () => {
  const { file, path } = usageFile();
  const all = Array.from({ length: 5000 }, (_, n) => `{"n":${n}}`);
  for (let n = 0; n < all.length; n += 7) file.add(all.slice(n, n + 7));
  await file.stop();
  assert.equal(lines(path), all);
  assert.is(statSync(path).mode & 0o777, 0o600);
});

Files('begins a new file when it is large, and keeps some old ones', async () => {
  const { file, path } = usageFile({ maxBytes: 100, maxFiles: 2 });
  const all = Array.from({ length: 60 }, (_, n) => `{"number":${1000 + n}}`); // 16 bytes with the line break
  for (const line of all) {
    file.add([line]);
    if (Number(line.slice(10, 14)) % 10 === 0) await until(async () => true);
  }
  await file.stop();
  assert.equal(readdirSync(join(path, '..')).sort(), ['usage.jsonl', 'usage.jsonl.1', 'usage.jsonl.2']);
  const kept = [`${path}.2`, `${path}.1`, path].flatMap(lines);
  assert.equal(kept, all.slice(-kept.length));
  for (const name of [path, `${path}.1`, `${path}.2`]) assert.ok(statSync(name).size <= 116);
});

Files('a line that is larger than a file has a file of its own', async () => {
  const { file, path } = usageFile({ maxBytes: 50 });
  const long = JSON.stringify('x'.repeat(200));
  file.add(['1', long, '2']);
  await file.stop();
  assert.equal([lines(`${path}.2`), lines(`${path}.1`), lines(path)], [['1'], [long], ['2']]);
});

Files('goes on after a line that was cut off', async () => {
  const path = join(folder, 'torn.jsonl');
  writeFileSync(path, '{"whole":1}\n{"cut":');
  const { file } = usageFile({ path });
  file.add(['{"next":1}']);
  await file.stop();
  assert.equal(lines(path), ['{"whole":1}', '{"cut":', '{"next":1}']);
});

Files('records wait while the file cannot be written, up to a limit', async () => {
  const path = join(folder, 'a-folder');
  mkdirSync(path);
  const { file, lost } = usageFile({ path, maxBytes: 100_000_000 });
  file.add(['1', '2']);
  const large = 'x'.repeat(9 * 1024 * 1024);
  file.add([large]);
  file.add([large]);
  assert.equal(lost, [1]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  rmdirSync(path);
  await until(async () => statSync(path, { throwIfNoEntry: false })?.isFile() === true && lines(path).length === 3);
  assert.equal(
    lines(path).map((line) => line.length),
    [1, 1, large.length],
  );
  rmSync(path);
  mkdirSync(path);
  file.add(['4']);
  await file.stop();
  assert.equal(lost, [1, 1], 'what the file does not take at the end is counted');
});

function smallDisk(): string | undefined {
  const path = mkdtempSync(join(tmpdir(), 'aana-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path], { stdio: 'ignore' });
    return path;
  } catch {
    rmdirSync(path);
    return undefined;
  }
}
const disk = smallDisk();
if (disk === undefined) skip('usage on a full disk', 'this user may not mount a file system');
else
  Files('after a full disk every record is in the file', async () => {
    try {
      writeFileSync(join(disk, 'other'), new Uint8Array(40_000));
      const { file, path, lost } = usageFile({ path: join(disk, 'usage.jsonl') });
      const all = Array.from({ length: 40 }, (_, n) => JSON.stringify({ n, text: 'x'.repeat(1000) }));
      for (const line of all) file.add([line]);
      await new Promise((resolve) => setTimeout(resolve, 200));
      rmSync(join(disk, 'other'));
      await until(
        async () => existsSync(path) && lines(path).filter((line) => line.endsWith('"}')).length >= all.length,
      );
      const whole = lines(path).filter((line) => line.endsWith('"}') && line.startsWith('{'));
      assert.equal([...new Set(whole)].sort(), [...all].sort());
      assert.equal(lost, []);
      await file.stop();
    } finally {
      execFileSync('umount', ['-l', disk]);
      rmdirSync(disk);
    }
  });

Files.run();
