/** A schema, a pattern or a list that cannot be made into a grammar. The message begins with the place in it. */
export class UnusableStructure extends Error {
  override readonly name = 'UnusableStructure';
}

/** A schema that no value meets. A larger schema leaves out the part. */
export class Impossible extends UnusableStructure {
  constructor(at: string, why: string) {
    super(`${at}: no value is possible: ${why}`);
  }
}

/** Throws an error that names the place. */
export function refuse(at: string, problem: string): never {
  throw new UnusableStructure(`${at}: ${problem}`);
}
