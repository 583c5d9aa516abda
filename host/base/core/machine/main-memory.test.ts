import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { totalMainBytes } from './total-memory.ts';
import { freeMainBytes } from './main-memory.ts';

const Memory = suite('the main memory');

const folders: string[] = [];
Memory.after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

/** Creates a root folder with these files. */
function root(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'aana-root-'));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const MEMINFO = 'MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    9000 kB\n';

Memory('is free as far as Linux reports it as available', () => {
  assert.is(freeMainBytes(root({ 'proc/meminfo': MEMINFO })), 9000 * 1024);
});

Memory('is free within the limits of all control groups, where cached files count as free', () => {
  const files = {
    'proc/meminfo': MEMINFO,
    'proc/self/cgroup': '1:name=systemd:/x\n0::/outer/inner\n',
    'sys/fs/cgroup/outer/memory.max': '6000000\n',
    'sys/fs/cgroup/outer/memory.current': '5000000\n',
    'sys/fs/cgroup/outer/memory.stat': 'anon 1\nactive_file 300000\ninactive_file 200000\n',
    'sys/fs/cgroup/outer/inner/memory.max': 'max\n',
    'sys/fs/cgroup/outer/inner/memory.current': '4000000\n',
  };
  assert.is(freeMainBytes(root(files)), 1_500_000);
  const container = {
    ...files,
    'proc/self/cgroup': '0::/\n',
    'sys/fs/cgroup/memory.max': '100\n',
    'sys/fs/cgroup/memory.current': '300\n',
  };
  assert.is(freeMainBytes(root(container)), 0);
});

Memory('is unknown without the files of Linux', () => {
  assert.is(freeMainBytes(root({})), undefined);
});

Memory('that is free on this machine is less than the total', () => {
  const free = freeMainBytes();
  if (process.platform === 'linux') assert.ok(free !== undefined && free > 0 && free < totalMainBytes());
});

Memory.run();
