import type { Config } from '../../../base/config/index.ts';
import { childEnvironment } from '../../../base/config/index.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { buildSqlite } from '../../../setup/native-build/index.ts';
import { withProgress } from '../../../setup/packages/index.ts';
import { makeBackup } from '../../backup/make-backup.ts';
import type { Manifest } from '../../backup/manifest.ts';
import { restoreBackup } from '../../backup/restore-backup.ts';
import { bytesText } from '../../doctor/check.ts';

export interface BackupCommand {
  readonly config: Config;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly out: { write(text: string): unknown };
}

/** The command `backup`. Returns 1 if files that the database names were missing. */
export async function backup({ config, log, signal, out }: BackupCommand, target: string): Promise<number> {
  const manifest = await withProgress('backing up', undefined, () =>
    makeBackup({ config, target, sqliteModule: sqliteModule({ config, log, signal }), signal }),
  );
  out.write(`${target}: ${described(manifest)}\n`);
  const { missing } = manifest;
  if (missing.length === 0) return 0;
  out.write(
    `${missing.length} files that the database names were missing: ` +
      `${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ', …' : ''}\n`,
  );
  return 1;
}

/** The command `restore`. */
export async function restore(
  { config, log, signal, out }: BackupCommand,
  source: string,
  force: boolean,
): Promise<number> {
  const { manifest, aside } = await withProgress('restoring', undefined, () =>
    restoreBackup({ config, source, force, sqliteModule: sqliteModule({ config, log, signal }), signal }),
  );
  out.write(`restored ${source} of ${manifest.created_at} to ${config.data_dir}: ${described(manifest)}\n`);
  if (aside !== undefined) out.write(`the data that were there are in ${aside}\n`);
  return 0;
}

function sqliteModule({ config, log, signal }: Omit<BackupCommand, 'out'>): () => Promise<string> {
  return () => buildSqlite({ cacheDir: config.cache_dir, log, signal, env: childEnvironment(config) });
}

function described({ files, migration }: Manifest): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const count = files.length - 1;
  return `the database at migration ${migration} and ${count} ${count === 1 ? 'file' : 'files'}, ${bytesText(bytes)}`;
}
