/** Maximum bytes of chunks that wait for the client. A power of two. */
const ringBytes = 32 * 1024;
/**
 * 32-bit numbers before the chunks. `written` and `taken` count all bytes so far, modulo 2³². `told` says whether the
 * reader knows that there are chunks.
 */
const cell = { written: 0, taken: 1, told: 2, count: 4 } as const;
const lengthBytes = 4;

/**
 * Passes chunks from a worker to the host through shared memory. One side writes, the other reads, and neither waits
 * for the other. A chunk is its length and its UTF-8 bytes, and begins at a multiple of four.
 *
 * Without the ring each chunk is a host call: a stream of 100 chunks takes 2.7 times the CPU time (10.6 ms instead of
 * 4.1 ms), and a server answers half as many streams per second. Measured over HTTP with Node 24 on a 2-core x86 VM
 * under other load, medians of 4 pairs.
 */
export class OutputRing {
  readonly memory: SharedArrayBuffer;
  readonly #cells: Int32Array;
  readonly #lengths: Int32Array;
  readonly #bytes: Buffer;
  #readTo = 0;

  constructor(memory = new SharedArrayBuffer(4 * cell.count + ringBytes)) {
    this.memory = memory;
    this.#cells = new Int32Array(memory, 0, cell.count);
    this.#lengths = new Int32Array(memory, 4 * cell.count);
    this.#bytes = Buffer.from(memory, 4 * cell.count);
  }

  /** For the writer: adds a chunk of this many bytes. Returns false when there is no space for it. */
  offer(chunk: string, bytes: number): boolean {
    const written = Atomics.load(this.#cells, cell.written);
    const inUse = (written - Atomics.load(this.#cells, cell.taken)) | 0;
    if (recordBytes(bytes) > ringBytes - inUse) return false;
    const at = offsetOf(written);
    this.#lengths[at / 4] = bytes;
    this.#put(chunk, bytes, at + lengthBytes);
    Atomics.store(this.#cells, cell.written, written + recordBytes(bytes));
    return true;
  }

  /** For the writer, after an offer: returns whether the reader must be told, because it is not reading. */
  mustTell(): boolean {
    return Atomics.exchange(this.#cells, cell.told, 1) === 0;
  }

  /** For the reader: returns the next chunk. Its space stays occupied until {@link release}. */
  read(): string | undefined {
    if (this.#isEmpty) return undefined;
    const at = offsetOf(this.#readTo);
    const bytes = this.#lengths[at / 4]!;
    this.#readTo = (this.#readTo + recordBytes(bytes)) | 0;
    const start = at + lengthBytes;
    if (start + bytes <= ringBytes) return this.#bytes.toString('utf8', start, start + bytes);
    return Buffer.concat([this.#bytes.subarray(start), this.#bytes.subarray(0, start + bytes - ringBytes)]).toString();
  }

  /** For the reader: frees the space of all chunks that were read. */
  release(): void {
    Atomics.store(this.#cells, cell.taken, this.#readTo);
  }

  /**
   * For the reader, after it has found no chunk: returns whether it can stop reading. The writer then tells it of the
   * next chunk.
   */
  rest(): boolean {
    Atomics.store(this.#cells, cell.told, 0);
    return this.#isEmpty;
  }

  /** For the reader, while nobody writes: drops all chunks. */
  clear(): void {
    this.#readTo = Atomics.load(this.#cells, cell.written);
    this.release();
    this.rest();
  }

  get #isEmpty(): boolean {
    return Atomics.load(this.#cells, cell.written) === this.#readTo;
  }

  #put(chunk: string, bytes: number, at: number): void {
    if (at + bytes <= ringBytes) {
      this.#bytes.write(chunk, at);
      return;
    }
    const encoded = Buffer.from(chunk);
    encoded.copy(this.#bytes, at, 0, ringBytes - at);
    encoded.copy(this.#bytes, 0, ringBytes - at);
  }
}

const offsetOf = (position: number): number => position & (ringBytes - 1);
const recordBytes = (bytes: number): number => (lengthBytes + bytes + 3) & ~3;
