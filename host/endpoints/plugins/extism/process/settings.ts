/** What a process is told at its start, as `name=value`. */
export interface ProcessSettings {
  /** Runs at a time, each in a thread of its own. */
  readonly slots: number;
  /** Bytes of the blocks of a run. A flag of V8 limits its memory. */
  readonly memoryBytes: number;
  /** The interface whose functions are run, such as `aana:host/endpoint@0.1.0`. */
  readonly endpoint: string;
}

/** Reads the arguments of a process. Those that only the sandbox of components uses are left out. */
export function readSettings(given: readonly string[]): ProcessSettings {
  const values = new Map(given.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]));
  return {
    slots: Number(values.get('slots')),
    memoryBytes: Number(values.get('memory-bytes')),
    endpoint: String(values.get('endpoint')),
  };
}

type CborRecord = { readonly [fact: string]: number | boolean };

/** Returns what the kernel enforces, as the program says it that has confined this process. */
export const readConfinement = (): CborRecord =>
  JSON.parse(
    process.env['AANA_CONFINEMENT'] ?? '{"no-new-privileges":false,"seccomp":false,"landlock":0,"memory-limit":false}',
  ) as CborRecord;
