import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../base/core/package-root.ts';
import { capMemory } from '../../endpoints/plugins/component/core-modules/memory-cap.ts';
import { hookMemories, importMemories } from '../../endpoints/plugins/component/core-modules/import-memories.ts';
import { newControl } from '../../endpoints/plugins/invocation/protocol.ts';
import { addHooks, hookModule, type Hooks } from '../../endpoints/plugins/component/core-modules/hooks.ts';
import { compile, findCommands, versioned } from '../../endpoints/plugins/fixtures/guest.ts';

/** A function of a compiled guest, with and without interrupts. */
export interface Kernel {
  readonly name: string;
  plain(): unknown;
  interruptible(): unknown;
}

const maxBytes = 64 * 1024 * 1024;

type Kernels = Record<string, (n: number) => unknown>;

/** The argument with which each function takes some tens of milliseconds. */
const work: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  C: { hash: 20, matrix: 20, sort: 12, calls: 30, copy: 40 },
  Rust: { words: 20, primes: 40 },
};

const sources = join(packageRoot, 'host/bench/fixtures/kernels');

/** Returns the kernels that this machine can compile. Adds a note for each missing compiler. */
export async function kernels(notes: string[]): Promise<Kernel[]> {
  const dir = await mkdtemp(join(tmpdir(), 'aana-kernels-'));
  try {
    const found: Kernel[] = [];
    for (const [language, functions] of Object.entries(work)) {
      const file = join(dir, `${language}.wasm`);
      try {
        await (language === 'C' ? compileC(file) : compileRust(file));
      } catch (error) {
        notes.push(
          `${language} was left out: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`,
        );
        continue;
      }
      const code = new Uint8Array(await readFile(file));
      const plain = instance(code);
      const interruptible = instance(importMemories(capMemory(addHooks(code, { interrupts: 'cell' }), maxBytes)));
      for (const [name, n] of Object.entries(functions))
        found.push({
          name: `${language}: ${name}`,
          plain: () => plain[name]!(n),
          interruptible: () => interruptible[name]!(n),
        });
    }
    return found;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function instance(code: Uint8Array<ArrayBuffer>): Kernels {
  const hooks: Hooks = { grow: (delta) => delta, isOver: () => 0 };
  const cell = newControl();
  const module = new WebAssembly.Module(code);
  const wasi = Object.fromEntries(WebAssembly.Module.imports(module).map(({ name }) => [name, () => 0]));
  return new WebAssembly.Instance(module, {
    wasi_snapshot_preview1: wasi,
    [hookModule]: { ...hooks, ...hookMemories(module, cell) },
  }).exports as Kernels;
}

async function compileC(file: string): Promise<void> {
  const clang = findCommands(versioned('clang'))[0];
  if (clang === undefined) throw new Error('clang is missing');
  await compile(clang, [
    '--target=wasm32',
    '-nostdlib',
    '-O2',
    '-Wl,--no-entry',
    '-Wl,--strip-all',
    '-o',
    file,
    join(sources, 'kernels.c'),
  ]);
}

async function compileRust(file: string): Promise<void> {
  const rustc = findCommands(['rustc'])[0];
  if (rustc === undefined) throw new Error('rustc is missing');
  const args = [
    '--edition',
    '2021',
    '--crate-type',
    'cdylib',
    '-O',
    '-C',
    'strip=symbols',
    '-o',
    file,
    join(sources, 'kernels.rs'),
  ];
  await compile(rustc, ['--target', 'wasm32-wasip1', ...args]).catch(() =>
    compile(rustc, ['--target', 'wasm32-wasi', ...args]),
  );
}
