import type { CallContext } from 'extism';

/**
 * Blocks have 16 bits of an address, and Extism's functions do not know those whose first bit is set. Some are Extism's
 * own.
 */
const maxBlocks = 32_000;

/**
 * The blocks in which one run passes bytes between the guest and the host. They lie outside of its memory and have a
 * limit of their own.
 */
export class Blocks {
  readonly #limit: number;
  #bytes = 0;
  #count = 0;

  /** @param limit Bytes that a run may put into blocks in all, freed or not: which are freed only Extism knows. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** A new block for the guest. */
  alloc(context: CallContext, bytes: bigint): bigint {
    this.#charge(Number(bytes));
    return context.alloc(bytes);
  }

  /** A new block with this content. */
  store(context: CallContext, content: string | Uint8Array): bigint {
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    this.#charge(bytes.length);
    return context.store(bytes);
  }

  bytes(context: CallContext, address: bigint): Uint8Array {
    const block = context.read(address);
    if (block === null) throw new Error(`there is no block at address ${address}`);
    return block.bytes();
  }

  text(context: CallContext, address: bigint): string {
    return new TextDecoder().decode(this.bytes(context, address));
  }

  /** Throws before anything is allocated: a guest may catch what its imports throw. */
  #charge(bytes: number): void {
    if (!(bytes >= 0 && this.#bytes + bytes <= this.#limit))
      throw new Error(`the run put more than ${this.#limit} bytes into blocks`);
    if (this.#count >= maxBlocks) throw new Error(`the run made more than ${maxBlocks} blocks`);
    this.#bytes += bytes;
    this.#count++;
  }
}
