import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compareVersions, neededVersions } from './needed-versions.ts';
import { glibcProblem } from './platform.ts';

const Needed = suite<{ folder: string }>('neededVersions');

Needed.before.each(async (context) => {
  context.folder = await mkdtemp(join(tmpdir(), 'aana-needed-'));
});
Needed.after.each(({ folder }) => rm(folder, { recursive: true, force: true }));

Needed('returns the newest version that any file below the folder asks for', async ({ folder }) => {
  await mkdir(join(folder, 'addon'));
  await writeFile(join(folder, 'addon', 'a.so'), '\u007fELF\0GLIBC_2.9\0GLIBC_2.34\0GLIBCXX_3.4\0GLIBC_2.2.5\0');
  await writeFile(join(folder, 'b.node'), '\u007fELF\0GLIBCXX_3.4.30\0GLIBCXX_3.4.9\0CXXABI_1.3.13\0GLIBC_2.17\0');
  assert.equal(await neededVersions(folder), { glibc: '2.34', glibcxx: '3.4.30' });
});

Needed('takes only names of versions, and leaves out a library of which nothing is needed', async ({ folder }) => {
  await writeFile(join(folder, 'a.so'), 'needs GLIBC_2.99 or later\0GLIBC_PRIVATE\0XGLIBC_2.98\0GLIBC_2.31\0');
  assert.equal(await neededVersions(folder), { glibc: '2.31' });
});

Needed('compares versions by their numbers', () => {
  const version = fc.array(fc.nat({ max: 120 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(version, version, (a, b) => {
      const compared = compareVersions(a.join('.'), b.join('.'));
      const at = [0, 1, 2, 3].find((i) => (a[i] ?? 0) !== (b[i] ?? 0));
      assert.is(Math.sign(compared), at === undefined ? 0 : Math.sign((a[at] ?? 0) - (b[at] ?? 0)));
    }),
  );
});

Needed('says which C library a machine has when it does not fit', () => {
  assert.is(glibcProblem('2.34', '2.34'), undefined);
  assert.is(glibcProblem('2.9', '2.34'), undefined);
  assert.is(glibcProblem('2.34', '2.31'), 'glibc 2.34 or later is needed, and this machine has 2.31');
  assert.match(glibcProblem('2.34', undefined) ?? '', 'this machine has another C library, such as musl');
});

Needed.run();
