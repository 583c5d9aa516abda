/** Bytes of chunks that wait for their client at most; a power of two. */
const ringBytes = 32 * 1024;
/**
 * In the 32-bit numbers before the chunks: bytes ever written, bytes ever taken (both modulo 2³²), and whether the
 * reader knows of any.
 */
const cell = { written: 0, taken: 1, told: 2, count: 4 } as const;
const lengthBytes = 4;

/**
 * Chunks on their way from a worker to the host: one writes, one reads, and neither waits for the other. A chunk is its
 * length and its UTF-8 bytes, and begins at a multiple of four.
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

  /** Writer: leaves a chunk of so many bytes for the reader. False when there is no room for it. */
  offer(chunk: string, bytes: number): boolean {
    const written = Atomics.load(this.#cells, cell.written);
    const inUse = (written - Atomics.load(this.#cells, cell.taken)) | 0;
    if (recordBytes(bytes) > ringBytes - inUse) return false;
    const at = placeOf(written);
    this.#lengths[at / 4] = bytes;
    this.#put(chunk, bytes, at + lengthBytes);
    Atomics.store(this.#cells, cell.written, written + recordBytes(bytes));
    return true;
  }

  /** Writer, after an offer: whether the reader must be told, because it does not look by itself. */
  mustTell(): boolean {
    return Atomics.exchange(this.#cells, cell.told, 1) === 0;
  }

  /** Reader: the next chunk. Its room stays taken until {@link release}. */
  read(): string | undefined {
    if (this.#isEmpty) return undefined;
    const at = placeOf(this.#readTo);
    const bytes = this.#lengths[at / 4]!;
    this.#readTo = (this.#readTo + recordBytes(bytes)) | 0;
    const start = at + lengthBytes;
    if (start + bytes <= ringBytes) return this.#bytes.toString('utf8', start, start + bytes);
    return Buffer.concat([this.#bytes.subarray(start), this.#bytes.subarray(0, start + bytes - ringBytes)]).toString();
  }

  /** Reader: gives the room of all chunks read so far back. */
  release(): void {
    Atomics.store(this.#cells, cell.taken, this.#readTo);
  }

  /** Reader, when it has found nothing: whether it can stop to look, for the writer will tell it of what comes. */
  rest(): boolean {
    Atomics.store(this.#cells, cell.told, 0);
    return this.#isEmpty;
  }

  /** Reader, while nobody writes: drops what is in it. */
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

const placeOf = (position: number): number => position & (ringBytes - 1);
const recordBytes = (bytes: number): number => (lengthBytes + bytes + 3) & ~3;
