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

/** A function whose parameters cannot be made into rules. */
export class UnusableParameters extends UnusableStructure {
  /** The index of the function among those that were given. */
  readonly index: number;

  constructor(index: number, message: string) {
    super(message);
    this.index = index;
  }
}

/** A reference that leads to no schema: a mistake, unlike a keyword that no grammar holds. */
export class WrongReference extends UnusableStructure {
  constructor(at: string, problem: string) {
    super(`${at}: the reference ${problem}`);
  }
}

/** Throws an error that names the place. */
export function refuse(at: string, problem: string): never {
  throw new UnusableStructure(`${at}: ${problem}`);
}
