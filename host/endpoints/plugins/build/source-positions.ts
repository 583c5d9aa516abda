import { readFile } from 'node:fs/promises';
import { SourceMap, type SourceMapPayload } from 'node:module';

/** A source map of version 3. */
export interface BundleMap {
  readonly version: number;
  readonly sources: readonly string[];
  readonly names: readonly string[];
  readonly mappings: string;
}

/** The name of the module with the bundle. */
export const BUNDLE_NAME = 'aana-bundle.js';

/** Names of the bundle in stacks of the interpreter, the second one in components that were built earlier. */
const NAMES = [`/${BUNDLE_NAME}`, 'componentize-qjs:user.js'];
const PLACE = new RegExp(`(?:${NAMES.join('|').replaceAll('.', '\\.')}):(\\d+)(?::(\\d+))?`, 'g');

/** The folder of the maps of built components. */
export const positionsPath = (component: string): string => `${component}.map`;

/** Finds positions in a plugin's sources for positions in its bundle. */
export class SourcePositions {
  readonly map: BundleMap;
  #parsed: SourceMap | undefined;

  constructor(map: BundleMap) {
    this.map = map;
  }

  /** Returns `src/index.ts:3:5` for a position in the bundle. Lines and columns count from 1. */
  at(line: number, column: number): string {
    this.#parsed ??= new SourceMap({
      ...this.map,
      file: '',
      sourcesContent: [],
      sourceRoot: '',
    } as unknown as SourceMapPayload);
    const entry = this.#parsed.findEntry(line - 1, column - 1);
    if (!('originalSource' in entry)) return `bundle:${line}:${column}`;
    return `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  }

  /** Returns a text with positions in the sources instead of the bundle. */
  translate(text: string): string {
    return text.replaceAll(PLACE, (_place, line: string, column = '1') => this.at(Number(line), Number(column)));
  }

  /** @param digest the digest of the component that was built from the bundle. */
  toJson(digest: string): string {
    return `${JSON.stringify({ ...this.map, component: digest })}\n`;
  }
}

/**
 * Returns a function that replaces positions in the bundle by positions in the sources, when the map of the component's
 * build is still beside the component.
 */
export async function readPositions(component: string, digest: string): Promise<(text: string) => string> {
  const json = await readFile(positionsPath(component), 'utf8').catch(() => undefined);
  let positions: SourcePositions | undefined;
  let isRead = false;
  return (text) => {
    if (json === undefined || !NAMES.some((name) => text.includes(name))) return text;
    if (!isRead) positions = parsed(json, digest);
    isRead = true;
    return positions?.translate(text) ?? text;
  };
}

function parsed(json: string, digest: string): SourcePositions | undefined {
  try {
    const { component, ...map } = JSON.parse(json);
    return component === digest ? new SourcePositions(map) : undefined;
  } catch {
    return undefined; // the map is damaged, so positions stay as they are
  }
}
