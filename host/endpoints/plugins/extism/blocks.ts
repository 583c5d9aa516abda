import type { CallContext } from 'extism';
import type { Error as WitError } from '../../../../wit/generated/world/types.ts';

/**
 * The maximum number of blocks. An address has 16 bits for the block, Extism's functions ignore blocks whose first bit
 * is set, and some blocks belong to Extism.
 */
const maxBlocks = 32_000;
/** Bytes of an error of a guest, with its data. */
const maxErrorBytes = 1024 * 1024 + 64 * 1024;
/** Bytes of a text for the host, which takes no longer one. Nothing interrupts a thread that reads a text. */
const maxTextBytes = 4 * 1024 * 1024;

/**
 * The blocks through which one run passes bytes between guest and host, and its variables. They lie outside of the
 * guest's memory and have a limit of their own.
 */
export class Blocks {
  readonly #limit: number;
  #bytes = 0;
  #count = 0;

  /**
   * @param limit bytes that a run may put into blocks in all. Freed blocks count, because only Extism knows which
   * blocks are freed.
   */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns a new block for the guest. */
  alloc(context: CallContext, bytes: bigint): bigint {
    this.#charge(Number(bytes));
    return context.alloc(bytes);
  }

  /** Returns a new block with this content. */
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

  /** Throws `ArgumentsTooLarge` of the world for a text with more than `most` bytes. */
  text(context: CallContext, address: bigint, most = maxTextBytes): string {
    const bytes = this.bytes(context, address);
    if (bytes.length > most) {
      const payload: WitError = {
        ...{ kind: 'too-large', name: 'ArgumentsTooLarge', data: '{}' },
        message: `a text has more than ${most} bytes`,
      };
      throw Object.assign(new Error(payload.message), { payload });
    }
    return new TextDecoder().decode(bytes);
  }

  /** Returns a copy of a block's content, which counts as a block. */
  copy(context: CallContext, address: bigint): Uint8Array {
    const bytes = this.bytes(context, address);
    this.#charge(bytes.length);
    return bytes.slice();
  }

  /** Sets the error of the guest's call. */
  setError(context: CallContext, address: bigint): void {
    const text = this.text(context, address, maxErrorBytes);
    this.#charge(Buffer.byteLength(text));
    context.setError(text || 'it gives no reason');
  }

  /** Counts a new block. Throws before it is allocated, because a guest may catch errors of its imports. */
  #charge(bytes: number): void {
    if (!(bytes >= 0 && this.#bytes + bytes <= this.#limit))
      throw new Error(`the run put more than ${this.#limit} bytes into blocks`);
    if (this.#count >= maxBlocks) throw new Error(`the run made more than ${maxBlocks} blocks`);
    this.#bytes += bytes;
    this.#count++;
  }
}
