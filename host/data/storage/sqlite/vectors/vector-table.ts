import type { MessagePort } from 'node:worker_threads';
import { LANES, MOST_PAGES } from './products.ts';

const PAGE_BYTES = 65_536;
const NUMBER_BYTES = Float32Array.BYTES_PER_ELEMENT;

/** Vectors of one length in a memory of the thread that searches in them. */
export interface TableSpec {
  readonly dimensions: number;
  readonly rows: number;
}

/** Where what is in the memory of a table, in bytes. */
export interface TableLayout {
  readonly rowBytes: number;
  /** The vector that is asked for is at 0. Then come the products, and the rows. */
  readonly products: number;
  readonly first: number;
  readonly bytes: number;
}

export function layoutOf({ dimensions, rows }: TableSpec): TableLayout {
  const rowBytes = Math.ceil(dimensions / LANES) * LANES * NUMBER_BYTES;
  const products = rowBytes;
  const first = products + Math.ceil(rows / LANES) * LANES * NUMBER_BYTES;
  return { rowBytes, products, first, bytes: first + rows * rowBytes };
}

export function newMemory({ bytes }: TableLayout): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE_BYTES), maximum: MOST_PAGES });
}

/** Most bytes of a table. */
export const MOST_TABLE_BYTES = MOST_PAGES * PAGE_BYTES;

/** A new table of zeros. The thread has it until the port is closed, and closes the port if it has no memory for it. */
export interface TableMessage extends TableSpec {
  readonly port: MessagePort;
}

/** Rows of a table from the one with the number `begin` on. */
export interface TableRows {
  readonly begin: number;
  readonly bytes: Uint8Array;
}

export interface TableQuestion {
  readonly vector: Float32Array;
  readonly limit: number;
  /** The rows that count; undefined for all. */
  readonly among: Uint32Array | undefined;
}

/** The rows with the largest products, the largest first. `rows` are places in `among`, if there is one. */
export interface TableAnswer {
  readonly rows: readonly number[];
  readonly products: readonly number[];
}
