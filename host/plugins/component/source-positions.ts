import { readFile } from 'node:fs/promises';
import { SourceMap, type SourceMapPayload } from 'node:module';

/** A source map of version 3. */
export interface BundleMap {
  readonly version: number;
  readonly sources: readonly string[];
  readonly names: readonly string[];
  readonly mappings: string;
}

/** How the interpreter names the bundle in stacks. */
const PLACE = /componentize-qjs:user\.js:(\d+)(?::(\d+))?/g;

/** Where the maps of built components lie. */
export const positionsPath = (component: string): string => `${component}.map`;

/** Finds the lines of a plugin's sources for those of its bundle. */
export class SourcePositions {
  readonly map: BundleMap;
  #parsed: SourceMap | undefined;

  constructor(map: BundleMap) {
    this.map = map;
  }

  /** `src/index.ts:3:5` for a place in the bundle; both count from 1. */
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

  /** A text whose places in the bundle are those in the sources. */
  translate(text: string): string {
    return text.replaceAll(PLACE, (_place, line: string, column = '1') => this.at(Number(line), Number(column)));
  }

  /** @param digest of the component that the bundle became. */
  toJson(digest: string): string {
    return `${JSON.stringify({ ...this.map, component: digest })}\n`;
  }
}

/**
 * Gives texts of a component's log their places in the sources, where the component was built with a map that is still
 * beside it.
 */
export async function readPositions(component: string, digest: string): Promise<(text: string) => string> {
  const json = await readFile(positionsPath(component), 'utf8').catch(() => undefined);
  let positions: SourcePositions | undefined;
  let isRead = false;
  return (text) => {
    if (json === undefined || !text.includes('componentize-qjs:user.js')) return text;
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
    return undefined; // damaged: the places stay those of the bundle
  }
}
