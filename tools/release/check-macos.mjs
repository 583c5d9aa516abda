// Compiles the sources of the addon and of the sandbox of plugins for macOS on arm64, without linking them, with Zig's
// Clang and headers: `npm run check:macos -- [command]`, by default `zig`; PyPI's ziglang is `python3 -m ziglang`.
// Needs a built addon, whose commands it changes. whisper.cpp and llama.cpp are left out. Takes minutes.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [zig, ...zigArgs] = process.argv.length > 2 ? process.argv.slice(2) : ['zig'];
const commands = join(root, 'build/cmake/compile_commands.json');
if (!existsSync(commands)) throw new Error(`${commands} is missing: run \`npx aana-host build-native\` first`);
execFileSync(zig, [...zigArgs, 'version'], { stdio: ['ignore', 'ignore', 'inherit'] });
const work = mkdtempSync(join(tmpdir(), 'aana-macos-'));

/** Compiles a file of C++ and reports it. */
function compile(name, file, options) {
  const args = [...zigArgs, 'c++', '-target', 'aarch64-macos', '-std=c++20', '-x', 'c++', ...options];
  const out = join(work, `${name}.o`);
  const { status, stderr } = spawnSync(zig, [...args, '-c', file, '-o', out], { encoding: 'utf8' });
  if (status !== 0) process.exitCode = 1;
  process.stdout.write(`${status === 0 ? 'ok   ' : 'FAIL '} ${name}\n${status === 0 ? '' : stderr}`);
}

try {
  for (const { file, command } of JSON.parse(readFileSync(commands, 'utf8'))) {
    const [, library] = /CMakeFiles\/(aana_\w+)\.dir\/Unity\//.exec(file) ?? [];
    if (library === undefined) continue; // kernels of x64, programs, and what is not ours
    const words = command.split(' ').map((word) => word.replaceAll('\\"', '"')); // as a shell reads them
    const options = words.filter((word, index) => {
      if (words[index - 1] === '-isystem' || word === '-isystem') return true;
      return /^-[ID]/.test(word) && word !== '-DAANA_HAS_X86_KERNELS';
    });
    compile(library, file, options);
  }
  const folder = join(root, 'native/src/sandbox');
  const sources = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.cc'));
  const unity = join(work, 'sandbox.cc');
  writeFileSync(unity, sources.map((path) => `#include "${join(folder, path)}"\n`).join(''));
  compile('aana_sandbox', unity, [`-I${join(root, 'native/src')}`]);
} finally {
  rmSync(work, { recursive: true });
}
