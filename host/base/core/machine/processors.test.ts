// The files of /proc and /sys of several machines, with what differs between them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseProcessorList } from './processor-list.ts';
import { allowedProcessors, usableCores, usableCpus } from './processors.ts';

const Processors = suite('the processors that a process may use');

const folders: string[] = [];
Processors.after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

type Files = Readonly<Record<string, string>>;

/** Creates a root folder with these files. */
function root(files: Files): string {
  const folder = mkdtempSync(join(tmpdir(), 'aana-root-'));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `${text}\n`);
  }
  return folder;
}

/** A machine whose cores have these processors, such as `['0,4', '1,5']`. */
function machine(cores: readonly string[], allowed: string, more: Files = {}): Files {
  const siblings = cores.flatMap((core) =>
    (parseProcessorList(core) ?? []).map((id) => [
      `sys/devices/system/cpu/cpu${id}/topology/thread_siblings_list`,
      core,
    ]),
  );
  return {
    'proc/self/status': `Name:\tnode\nCpus_allowed:\tff\nCpus_allowed_list:\t${allowed}\nMems_allowed_list:\t0`,
    'proc/self/cgroup': '0::/',
    'sys/devices/system/cpu/online': `0-${siblings.length - 1}`,
    ...(Object.fromEntries(siblings) as Files),
    ...more,
  };
}

const singles = (count: number): string[] => Array.from({ length: count }, (_, id) => String(id));
/** Hardware threads as Linux numbers them on Intel and AMD: the second threads after all first ones. */
const pairs = (count: number): string[] => Array.from({ length: count }, (_, id) => `${id},${id + count}`);

const FOUR = machine(singles(4), '0-3');
const SMT = machine(pairs(8), '0-15');
const TWO_NODES = machine(pairs(16), '0-31', {
  'sys/devices/system/node/online': '0-1',
  'sys/devices/system/node/node0/cpulist': '0-7,16-23',
  'sys/devices/system/node/node1/cpulist': '8-15,24-31',
});
// Six fast cores with two threads each, and eight slow ones.
const INTEL_CORES = [...Array.from({ length: 6 }, (_, i) => `${2 * i}-${2 * i + 1}`), ...singles(20).slice(12)];
const INTEL_HYBRID = machine(INTEL_CORES, '0-19', {
  'sys/devices/cpu_core/cpus': '0-11',
  'sys/devices/cpu_atom/cpus': '12-19',
});
const capacities = (list: readonly number[]): Files =>
  Object.fromEntries(list.map((capacity, id) => [`sys/devices/system/cpu/cpu${id}/cpu_capacity`, String(capacity)]));
const ARM_BIG_LITTLE = machine(singles(8), '0-7', capacities([414, 414, 414, 414, 1024, 1024, 1024, 1024]));
const ARM_EQUAL = machine(singles(4), '0-3', capacities([1024, 1024, 1024, 1024]));
const allowed = (files: Files, list: string): Files => ({
  ...files,
  'proc/self/status': `Cpus_allowed_list:\t${list}`,
});
const quota2 = (files: Files, text: string): Files => ({ ...files, 'sys/fs/cgroup/cpu.max': text });
const quota1 = (files: Files, quota: string, folder = ''): Files => ({
  ...files,
  'proc/self/cgroup': '5:cpuset:/docker/a\n4:cpu,cpuacct:/docker/a\n1:name=systemd:/docker/a',
  [`sys/fs/cgroup/cpu${folder}/cpu.cfs_quota_us`]: quota,
  [`sys/fs/cgroup/cpu${folder}/cpu.cfs_period_us`]: '100000',
});

const CASES: readonly (readonly [what: string, files: Files, cpus: number, cores: number])[] = [
  ['four cores', FOUR, 4, 4],
  ['eight cores with two threads each', SMT, 16, 8],
  ['two nodes', TWO_NODES, 32, 16],
  ['fast and slow cores of Intel', INTEL_HYBRID, 20, 6],
  ['only slow cores of Intel', allowed(INTEL_HYBRID, '12-15'), 4, 4],
  ['big and little cores of ARM', ARM_BIG_LITTLE, 8, 4],
  ['equal cores of ARM', ARM_EQUAL, 4, 4],
  ['taskset on both threads of two cores', allowed(SMT, '0-1,8-9'), 4, 2],
  ['taskset on one thread of four cores', allowed(SMT, '0-3'), 4, 4],
  ['processors that may be added later', allowed(FOUR, '0-127'), 4, 4],
  ['other numbers online than allowed, as lxcfs shows them', allowed(FOUR, '4-7'), 4, 4],
  ['an unreadable list of those online', { ...FOUR, 'sys/devices/system/cpu/online': '?' }, 4, 4],
  ['no topology', { 'proc/self/status': 'Cpus_allowed_list:\t0-5' }, 6, 6],
  ['no limit of version 2', quota2(SMT, 'max 100000'), 16, 8],
  ['a quota of 1.5', quota2(SMT, '150000 100000'), 1, 1],
  ['a quota of 2.5', quota2(SMT, '250000 100000'), 2, 2],
  ['a quota of a half', quota2(SMT, '50000 100000'), 1, 1],
  ['a quota of twelve', quota2(SMT, '1200000 100000'), 12, 8],
  ['a quota above the machine', quota2(FOUR, '1000000 100000'), 4, 4],
  ['no limit of version 1', quota1(SMT, '-1'), 16, 8],
  ['a quota of 1.5 in version 1, seen from inside', quota1(SMT, '150000'), 1, 1],
  ['a quota of 3 in version 1, seen from outside', quota1(SMT, '300000', '/docker/a'), 3, 3],
  [
    'a quota of an outer group',
    { ...SMT, 'proc/self/cgroup': '0::/a/b', 'sys/fs/cgroup/a/cpu.max': '400000 100000' },
    4,
    4,
  ],
  ['unreadable quotas', quota2(FOUR, 'x'), 4, 4],
];
for (const [what, files, cpus, cores] of CASES)
  Processors(`are ${cpus} with ${cores} cores: ${what}`, () => {
    const folder = root(files);
    assert.equal([usableCpus(folder), usableCores(folder)], [cpus, cores]);
  });

Processors('have the node and the core of their machine', () => {
  const found = allowedProcessors(root(allowed(TWO_NODES, '7-8,23-24'))) ?? [];
  assert.equal(
    found.map(({ id, core, node }) => [id, core, node]),
    [
      [7, 7, 0],
      [8, 8, 1],
      [23, 7, 0],
      [24, 8, 1],
    ],
  );
});

Processors('are as many as Node says where the system has no files of Linux', () => {
  const folder = root({});
  assert.is(allowedProcessors(folder), undefined);
  assert.equal([usableCpus(folder), usableCores(folder)], [availableParallelism(), availableParallelism()]);
});

Processors('of this machine are those of Node', () => {
  if (process.platform === 'linux') assert.is(allowedProcessors()?.length, availableParallelism());
});

Processors.run();
