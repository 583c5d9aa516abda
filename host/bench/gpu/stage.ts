// Prepares everything for a machine with a GPU and without a network: Node, this package with its CUDA backend, and
// models. Writes parts that can be delivered one by one. See docs/gpu.md.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { createLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { buildNative } from '../../setup/native-build/index.ts';
import { fetchGpuBackend, prepareGpuBackend } from '../../setup/native-build/gpu-backends.ts';
import { manifestPath, nativeAddonPath } from '../../../native/lib/index.ts';
import { endOfMetadata } from './gguf-writer.ts';
import { archivesText, splitFile } from './parts.ts';

const MIB = 2 ** 20;
/** Packages that `measure.js` and its replicas import. */
const IMPORTED = ['fastest-levenshtein', 're2js', 'zod'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'cache-dir': { type: 'string', default: process.env['AANA_CACHE_DIR'] ?? join(homedir(), '.cache', 'aana-host') },
    'part-mib': { type: 'string', default: '60' },
    /** A GGUF file of Llama's architecture. The generated model gets its vocabulary. */
    base: { type: 'string' },
    /** Further files. */
    add: { type: 'string', multiple: true, default: [] },
    'without-cuda': { type: 'boolean', default: false },
    /** Also the libraries of CUDA, for a machine that has none. They have 420 MB when packed. */
    'cuda-libraries': { type: 'boolean', default: false },
  },
});
const [out] = positionals;
if (out === undefined)
  throw new Error(
    'missing folder; usage: node dist/host/bench/gpu/stage.js <folder> [--part-mib 60] [--base model.gguf] [--add ' +
      'file]… [--without-cuda | --cuda-libraries]',
  );
const cacheDir = values['cache-dir'];
const log = createLogger({ level: 'info', format: 'text', write: (line) => process.stderr.write(line) });
const work = mkdtempSync(join(tmpdir(), 'aana-stage-'));
try {
  await stage(out);
} finally {
  rmSync(work, { recursive: true });
}

async function stage(folder: string): Promise<void> {
  const { addon } = await buildNative({ cacheDir, log });
  const fetch = values['cuda-libraries'] ? prepareGpuBackend : fetchGpuBackend;
  const cuda = values['without-cuda'] ? undefined : await fetch('cuda', { cacheDir, log, env: process.env });
  mkdirSync(folder, { recursive: true });
  const archives = [
    nodeArchive(),
    packageArchive(addon),
    modelsArchive(),
    ...(cuda ? [cudaArchive(cuda)] : []),
    ...addedArchive(),
  ];
  const split = archives.map((path) => splitFile(path, folder, Number(values['part-mib']) * MIB));
  writeFileSync(join(folder, 'archives.txt'), archivesText(split));
  copyFileSync(join(packageRoot, 'host/bench/gpu/unpack.sh'), join(folder, 'unpack.sh'));
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  log.info('staged', { folder, parts: split.reduce((sum, { parts }) => sum + parts, 0), mib: Math.round(bytes / MIB) });
}

/** Packs `names`, which are relative to `from`. */
function pack(name: string, from: string, names: readonly string[], excluded: readonly string[] = []): string {
  const path = join(work, name);
  execFileSync('tar', ['-czf', path, ...excluded.map((pattern) => `--exclude=${pattern}`), '-C', from, ...names]);
  return path;
}

function nodeArchive(): string {
  mkdirSync(join(work, 'node'));
  copyFileSync(process.execPath, join(work, 'node', 'node'));
  return pack('node.tar.gz', join(work, 'node'), ['node']);
}

/** Packs the compiled package, its addon and {@link IMPORTED}. */
function packageArchive(addon: string): string {
  const folder = join(work, 'package');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  for (const name of ['package.json', 'dist']) cpSync(join(packageRoot, name), join(folder, name), { recursive: true });
  for (const name of IMPORTED)
    cpSync(join(packageRoot, 'node_modules', name), join(folder, 'node_modules', name), { recursive: true });
  cpSync(join(addon, '..'), join(folder, 'build', 'Release'), { recursive: true });
  const manifest = manifestPath(nativeAddonPath(folder));
  writeFileSync(
    manifest,
    JSON.stringify({
      ...(JSON.parse(readFileSync(manifest, 'utf8')) as object),
      backend_directories: ['.', '../../../cuda'],
    }),
  );
  return pack('package.tar.gz', work, ['package'], ['*.map', '*.d.ts', '*.test.js', '*.tsbuildinfo']);
}

/** Packs the backend of a folder, and the libraries that are linked beside it if they are asked for. */
function cudaArchive(folder: string): string {
  mkdirSync(join(work, 'cuda'));
  const files = readdirSync(folder).filter((name) => values['cuda-libraries'] || name.startsWith('libggml-'));
  for (const name of files) copyFileSync(join(folder, name), join(work, 'cuda', name));
  return pack('cuda.tar.gz', work, ['cuda']);
}

/** Packs the vocabulary for the model to generate, and the Whisper models of the cache. */
function modelsArchive(): string {
  const folder = join(work, 'models');
  mkdirSync(folder);
  const base = values.base ?? findIn(join(cacheDir, 'models', 'smollm2-135m-instruct'), '.gguf');
  if (base === undefined)
    throw new Error(
      'no model for the vocabulary: pull one with `npx aana-host models pull smollm2-135m-instruct`, or name one ' +
        'with --base',
    );
  const file = readFileSync(base);
  writeFileSync(join(folder, 'vocabulary.gguf'), file.subarray(0, endOfMetadata(file)));
  const whisper = findIn(join(cacheDir, 'models', 'whisper-tiny.en'), '.bin');
  const silero = findIn(join(cacheDir, 'models', 'silero-vad-v6.2.0'), '.bin');
  if (whisper !== undefined) copyFileSync(whisper, join(folder, 'whisper.bin'));
  if (silero !== undefined) copyFileSync(silero, join(folder, 'silero.bin'));
  return pack('models.tar.gz', work, ['models']);
}

function addedArchive(): string[] {
  if (values.add.length === 0) return [];
  mkdirSync(join(work, 'added'));
  for (const path of values.add) copyFileSync(path, join(work, 'added', basename(path)));
  return [pack('added.tar.gz', work, ['added'])];
}

function findIn(folder: string, ending: string): string | undefined {
  const name = existsSync(folder) ? readdirSync(folder).find((each) => each.endsWith(ending)) : undefined;
  return name && join(folder, name);
}
