import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { hashFile } from '../packages/index.ts';
import { skip } from '../../test/skip.ts';
import { ModelStore } from './store.ts';

/** Digests of the files that the authors of whisper.cpp publish. */
const PUBLISHED = {
  'whisper-tiny.en': '5bc2b3860aa151a4c6e7bb095e1fcce7cf12c7b020ca08dcec0c6d018bb7dd94',
  'silero-vad-v6.2.0': '2aa269b785eeb53a82983a20501ddf7c1d9c48e33ab63a41391ac6c9f7fb6987',
} as const;

const cacheDir =
  process.env.AANA_CACHE_DIR ?? path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'aana-host');
const Pull = suite('pulled weights');

/** Returns the pulled model, or the error when no source is available. */
async function pull(id: string, folder: string, hfEndpoint?: string) {
  return new ModelStore({ cacheDir: folder, log: silentLogger, hfEndpoint }).pull(id).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'DownloadFailed' && !error.message.includes('checksum')) return error;
    throw error;
  });
}

for (const [id, sha256] of Object.entries(PUBLISHED)) {
  const model = await pull(id, cacheDir);
  if (model instanceof Error) skip(`${id} is byte for byte the published file`, model.message.replaceAll('\n', ' '));
  else
    Pull(`${id} is byte for byte the published file`, async () => {
      assert.is(model.sha256, sha256);
      assert.is(await hashFile(model.path, 'sha256', 'hex'), sha256);
    });
}

// No hub, so that the model is made on this machine.
const freshDir = await mkdtemp(path.join(tmpdir(), 'aana-pull-'));
const converted = await pull('silero-vad-v6.2.0', freshDir, 'http://127.0.0.1:9');
if (converted instanceof Error)
  skip('a model converted from a package is the published file', converted.message.replaceAll('\n', ' '));
else
  Pull('a model converted from a package is the published file, and nothing else stays in the cache', async () => {
    assert.is(await hashFile(converted.path, 'sha256', 'hex'), PUBLISHED['silero-vad-v6.2.0']);
    const entries = await readdir(freshDir, { recursive: true, withFileTypes: true });
    assert.equal(
      entries
        .filter((entry) => entry.isFile())
        .map((entry) => entry.name)
        .sort(),
      ['ggml-silero-v6.2.0.bin', 'ggml-silero-v6.2.0.bin.json'],
    );
  });
Pull.after(() => rm(freshDir, { recursive: true, force: true }));

Pull.run();
