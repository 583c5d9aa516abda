import { AanaError, fail } from '../../base/core/errors.ts';
import { formatBytes, type ProgressStream, type ReportProgress, withProgress } from '../packages/index.ts';
import type { ImportOptions } from './import-model.ts';
import type { CatalogueRow, ModelStore } from './store.ts';

/** Where a command writes: results to `out`, progress and errors to `err`. */
export interface CommandOutput {
  readonly out: { write(text: string): unknown };
  readonly err: ProgressStream;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the names of the deployments of running applications that load each of these files. */
export type UsersOfFiles = (files: readonly string[]) => Promise<readonly (readonly string[])[]>;

export interface ListOptions {
  readonly all?: boolean | undefined;
  /** Whether JSON is printed instead of a table. */
  readonly json?: boolean | undefined;
  readonly usersOf?: UsersOfFiles | undefined;
}

/**
 * Runs `models list`: prints the default variant of each model, and each other file on this machine. With `all`, prints
 * every variant. Returns the exit code.
 */
export async function modelsList(store: ModelStore, io: CommandOutput, options: ListOptions = {}): Promise<number> {
  return reporting(io, async () => {
    const rows = (await store.list()).filter((row) => options.all || row.isDefault || row.state !== 'absent');
    const users = (await options.usersOf?.(rows.map((row) => row.path))) ?? [];
    if (options.json) {
      const models = rows.map(({ isDefault: _isDefault, ...row }, index) => ({ ...row, used_by: users[index] ?? [] }));
      return void io.out.write(`${JSON.stringify(models, undefined, 2)}\n`);
    }
    const isNamed = ({ use }: CatalogueRow): boolean => use !== undefined;
    const cells = rows.flatMap((row, index) =>
      isNamed(row)
        ? []
        : [
            [
              row.id,
              row.bytes === undefined ? '' : formatBytes(row.bytes),
              stateText(row),
              ...(users.length > 0 ? [users[index]?.join(', ') || '-'] : []),
              row.licence,
            ],
          ],
    );
    io.out.write(table([['MODEL', 'SIZE', 'HERE', ...(users.length > 0 ? ['USED BY'] : []), 'LICENCE'], ...cells]));
    const named = rows.filter(isNamed).map(({ id, use = '', sources }) => [id, use, sources.join(', ')]);
    if (named.length > 0) io.out.write(`\n${table([['ON THE HUB', 'FOR', 'REPOSITORY'], ...named], [])}`);
    if (!options.all)
      io.out.write(
        '\nWhisper models also come as :f16 and :q5_1 ("models list --all" shows every file); ' +
          'owner/repo[/file.gguf] names any GGUF file of the hub.\n',
      );
  });
}

/**
 * Runs `models pull ID...`: prints the path of each model. Continues after a failure; returns 1 if any model failed.
 */
export async function modelsPull(store: ModelStore, ids: readonly string[], io: CommandOutput): Promise<number> {
  let code = 0;
  for (const id of ids) {
    const one = await reporting(io, async () => {
      const model = await withProgress(
        id,
        undefined,
        (onProgress: ReportProgress) => store.pull(id, { signal: io.signal, onProgress }),
        { stream: io.err },
      );
      io.out.write(`${model.path}\n`);
    });
    code = Math.max(code, one);
    if (io.signal?.aborted) break;
  }
  return code;
}

/** Runs `models path ID`: prints the file's path, or an error if the model is not on this machine. */
export async function modelsPath(store: ModelStore, id: string, io: CommandOutput): Promise<number> {
  return reporting(io, async () => {
    const model = await store.resolve(id);
    if (!model)
      throw fail('ModelNotFound', `${id} is not on this machine; run "aana-host models pull ${id}"`, { data: { id } });
    io.out.write(`${model.path}\n`);
  });
}

/** Runs `models import DIR|FILE`. */
export async function modelsImport(
  store: ModelStore,
  source: string,
  options: ImportOptions,
  io: CommandOutput,
): Promise<number> {
  return reporting(io, async () => {
    const { signal } = io;
    const model = await withProgress(
      source,
      undefined,
      (onProgress: ReportProgress) => store.import(source, { ...options, signal, onProgress }),
      { stream: io.err },
    );
    io.out.write(`${model.id}: ${formatBytes(model.bytes)}, ${model.path}\n`);
  });
}

/** Runs `models rm ID...`. With `usersOf`, it refuses a model that a running deployment loads. */
export async function modelsRemove(
  store: ModelStore,
  ids: readonly string[],
  io: CommandOutput,
  usersOf?: UsersOfFiles,
): Promise<number> {
  let code = 0;
  for (const id of ids) {
    const one = await reporting(io, async () => {
      const { path } = (usersOf && (await store.resolve(id).catch(() => undefined))) ?? {}; // a damaged model may go
      const [users = []] = (path !== undefined && (await usersOf?.([path]))) || [];
      if (users.length > 0)
        throw fail(
          'ModelInUse',
          `${id} is loaded by ${users.join(', ')}; give the deployment another model or unload it first, or ` +
            `use --force`,
          { data: { id, deployments: users } },
        );
      io.out.write(`${id}: removed, ${formatBytes(await store.remove(id))} freed\n`);
    });
    code = Math.max(code, one);
  }
  return code;
}

/**
 * Writes an `AanaError` as one line, because its message says what to do. Rethrows other errors, because they are bugs.
 */
async function reporting(io: CommandOutput, run: () => Promise<void>): Promise<number> {
  try {
    await run();
    return 0;
  } catch (error) {
    if (!(error instanceof AanaError) && !io.signal?.aborted) throw error;
    io.err.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
    return io.signal?.aborted ? 130 : 1;
  }
}

function stateText(row: CatalogueRow): string {
  if (row.state === 'damaged') return 'damaged';
  return row.state === 'present' ? 'yes' : '-';
}

/** Columns in `right` end at the same place. */
function table(rows: readonly (readonly string[])[], right: readonly number[] = [1]): string {
  const columns = rows[0]?.length ?? 0;
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}
