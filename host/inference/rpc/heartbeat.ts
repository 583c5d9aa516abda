/** Milliseconds between two beats. */
export const BEAT_MS = 500;
/** Beats without a byte of the other end after which it counts as silent, and as lost. */
const SILENT_BEATS = 4;
const LOST_BEATS = 20;

export interface HeartbeatOptions {
  /** Sends a beat. */
  beat(): void;
  /** Called when the other end has been silent for 2 s, and when it is heard again. */
  onSilence(isSilent: boolean): void;
  /** Called once when it has been silent for 10 s. Default: it may be silent as long as it likes. */
  readonly onLost?: (() => void) | undefined;
}

/**
 * Sends beats to the other end of a connection, and notices when nothing comes from there. Silence is counted in beats
 * of this process instead of time, because bytes may wait in the socket while this process is held up.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #timer: NodeJS.Timeout;
  #missed = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    options.beat();
    this.#timer = setInterval(() => this.#tick(), BEAT_MS);
    this.#timer.unref();
  }

  /** Called when bytes have come. */
  heard(): void {
    const wasSilent = this.#missed >= SILENT_BEATS;
    this.#missed = 0;
    if (wasSilent) this.#options.onSilence(false);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const { beat, onSilence, onLost } = this.#options;
    this.#missed += 1;
    beat();
    if (this.#missed === SILENT_BEATS) onSilence(true);
    if (this.#missed === LOST_BEATS) onLost?.();
  }
}
