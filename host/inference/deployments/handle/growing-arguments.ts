import { raceAbort } from '../../../base/core/abort.ts';
import { AanaError } from '../../../base/core/errors.ts';
import type { AudioReference } from '../../../base/schemas/index.ts';
import { GrowingAudio } from '../../../base/schemas/growing-audio.ts';

/** Stands for an audio that is not complete when arguments are checked. */
const PLACEHOLDER: AudioReference = { channels: [], sample_rate: 16_000 };

/** The arguments of a call, some of which may be audio that is being decoded. */
export interface ReadyArguments {
  /** The arguments to check. */
  readonly args: Record<string, unknown>;
  /** An argument that the method takes while it is decoded. In `args` a placeholder is in its place. */
  readonly growing: GrowingArgument | undefined;
}

export interface GrowingArgument {
  readonly name: string;
  readonly audio: GrowingAudio;
}

/** Whether an argument is audio that is or was being decoded. */
export function hasGrowingAudio(args: Readonly<Record<string, unknown>>): boolean {
  // JavaScript may pass anything; the check of the arguments refuses it.
  return (
    typeof args === 'object' && args !== null && Object.values(args).some((value) => value instanceof GrowingAudio)
  );
}

/**
 * Waits for audio that is being decoded, except for the argument `taken`. Rejects with the error of a decoder or the
 * signal's reason.
 */
export async function readyArguments(
  args: Readonly<Record<string, unknown>>,
  taken: string | undefined,
  signal: AbortSignal | undefined,
): Promise<ReadyArguments> {
  const ready: Record<string, unknown> = { ...args };
  let growing: GrowingArgument | undefined;
  for (const [name, value] of Object.entries(args)) {
    if (!(value instanceof GrowingAudio)) continue;
    if (name === taken && value.whole === undefined) {
      growing = { name, audio: value };
      ready[name] = PLACEHOLDER;
    } else {
      ready[name] = await raceAbort(value.complete, signal);
    }
  }
  return { args: ready, growing };
}

/**
 * Returns the arguments of a call that has succeeded, with the complete audio. It waits for the end of decoding if the
 * call needed only the beginning. Rejects with the error of the decoder.
 */
export async function wholeArguments(
  args: Record<string, unknown>,
  growing: GrowingArgument | undefined,
): Promise<Record<string, unknown>> {
  return growing ? { ...args, [growing.name]: await growing.audio.complete } : args;
}

/** The audio of a call that is being decoded. If that fails, the call ends with the error of the decoder. */
export class DecodedMeanwhile {
  /** For the call. */
  readonly signal: AbortSignal;
  readonly #audio: GrowingAudio;
  readonly #failed = new AbortController();
  readonly #caller: AbortSignal | undefined;

  constructor({ audio }: GrowingArgument, caller: AbortSignal | undefined) {
    this.#audio = audio;
    this.#caller = caller;
    this.signal = caller ? AbortSignal.any([caller, this.#failed.signal]) : this.#failed.signal;
    audio.complete.catch((error: unknown) => this.#failed.abort(error));
  }

  /** Returns why the call failed. A replica may notice before this process that the decoder has failed. */
  async reason(error: unknown): Promise<unknown> {
    if (this.#failed.signal.aborted) return this.#failed.signal.reason;
    if (!(error instanceof AanaError && error.name === 'DecodedAudioError')) return error;
    try {
      await raceAbort(this.#audio.complete, this.#caller);
      return error;
    } catch (cause) {
      return cause;
    }
  }
}
