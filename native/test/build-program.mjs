// `node native/test/build-program.mjs <name>` builds a program in C++, or what changed of it since the last time.
// Processes that build at the same time wait for each other, because two `make` in one folder overwrite the program
// that one of them has finished.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withFileLock } from '../../host/packages/file-lock.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = join(root, 'build', 'tests');
const [name = 'all'] = argv.slice(2);

const cmake = (...args) => promisify(execFile)('cmake', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });

await withFileLock(join(root, 'build', 'tests.lock'), async () => {
  await cmake('-S', '.', '-B', folder, '-DAANA_TESTS=ON', '-DCMAKE_BUILD_TYPE=Release');
  await cmake('--build', folder, '--target', name, '--parallel', '2');
});
