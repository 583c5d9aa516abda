// `node native/test/build-program.mjs <name>` builds a program in C++ in the folder of the addon's build, whose objects
// it links, or what changed of it since the last time. Waits for other processes that build there.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withFileLock } from '../../host/setup/packages/file-lock.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const [name = 'all'] = argv.slice(2);

await withFileLock(join(root, 'build', 'native.lock'), () =>
  promisify(execFile)('cmake', ['--build', join(root, 'build', 'cmake'), '--target', name, '--parallel', '2'], {
    maxBuffer: 64 * 1024 * 1024,
  }),
);
