import { rename, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { GrowingAudioReference } from '../../base/schemas/growing-audio.ts';
import { isDiskFull } from '../../base/core/errors.ts';
import { diskFullError } from './errors.ts';

/** How long a decoder runs before its files are handed on. Shorter audio is simpler to use when it is complete. */
const HANDOVER_MS = 300;
/** Between two looks whether a decoder has begun to write. */
const LOOK_MS = 50;

export interface HandoverOptions {
  /** The folder that ids are relative to. */
  readonly root: string;
  /** Returns the files of the channels, once the decoder has begun to write them and it is known which are used. */
  readonly files: () => Promise<readonly string[] | undefined>;
  /** An existing folder below `root`, and the first part of the name of the file in it that tells the end. */
  readonly folder: string;
  readonly name: string;
  readonly sampleRate: GrowingAudioReference['sample_rate'];
  readonly expectedSamples: number;
  readonly onGrowing: (reference: GrowingAudioReference) => void;
}

/**
 * Hands on the files of a decoder while it writes them, if it takes a while. Readers learn that it has ended from a
 * file beside them, which appears complete.
 */
export class Handover {
  readonly #options: HandoverOptions;
  readonly #endFile: string;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  #isGiven = false;

  /** Starts to wait, when the decoder starts. */
  constructor(options: HandoverOptions) {
    this.#options = options;
    this.#endFile = join(options.folder, `${options.name}.end`);
    this.#timer = setTimeout(() => void this.#look(), HANDOVER_MS);
  }

  /** Hands on nothing from now on, because the decoder has ended. May be called twice. */
  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  /** Tells the readers the number of samples of each channel. Throws `DiskFullException`. */
  async end(samples: readonly number[]): Promise<void> {
    if (!this.#isGiven) return;
    const partial = `${this.#endFile}.part`;
    try {
      await writeFile(partial, samples.join(' '), { flag: 'wx', mode: 0o600 });
      await rename(partial, this.#endFile); // so that no reader sees a part of it
    } catch (error) {
      throw isDiskFull(error) ? diskFullError(this.#options.root, error) : error;
    }
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { root, sampleRate, expectedSamples, onGrowing } = this.#options;
    // A file that cannot be read is an error of the decoder, which removes its files where it fails.
    const files = await this.#options.files().catch(() => undefined);
    if (this.#isOver) return;
    if (!files) {
      this.#timer = setTimeout(() => void this.#look(), LOOK_MS);
      return;
    }
    this.#isGiven = true;
    const idOf = (file: string): string => relative(root, file).split(sep).join('/');
    onGrowing({
      channels: files.map((file) => ({ artifact: { id: idOf(file) } })),
      sample_rate: sampleRate,
      growing: { end: idOf(this.#endFile), expected_samples: expectedSamples },
    });
  }
}
