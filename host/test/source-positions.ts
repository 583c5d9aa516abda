import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** A position in a stack: an absolute path or a `file:` URL of a script, its line and its column. */
const POSITION = /(?:file:\/\/)?(\/[^\s():]+\.js):(\d+):(\d+)/g;

/**
 * Replaces the positions of compiled files in the output of a test file by those of their sources. Positions of files
 * without a source map stay. Node does the same with `--enable-source-maps`, but reads the maps in each process, also
 * where nothing fails.
 */
export function withSourcePositions(output: string): string {
  const maps = new Map<string, SourceMap | undefined>();
  const mapOf = (file: string): SourceMap | undefined => {
    if (!maps.has(file)) maps.set(file, readMap(`${file}.map`));
    return maps.get(file);
  };
  return output.replaceAll(POSITION, (position, file: string, line: string, column: string) => {
    const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (!entry || !('originalSource' in entry)) return position;
    const source = fileURLToPath(new URL(entry.originalSource, pathToFileURL(file)));
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
}

const readMap = (file: string): SourceMap | undefined =>
  existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : undefined;
