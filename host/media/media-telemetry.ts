import type { Histogram, Telemetry } from '../core/telemetry.ts';
import { WorkTelemetry } from '../core/work-telemetry.ts';

/** What is decoded. */
type Decoded = 'audio' | 'image';

/** Reports how media are fetched and decoded. URLs are no labels, because clients choose them. */
export class MediaTelemetry {
  readonly #fetches: WorkTelemetry;
  readonly #decodings: WorkTelemetry;
  readonly #sizes: Histogram;

  constructor(telemetry: Telemetry) {
    this.#fetches = new WorkTelemetry(telemetry, 'aana.media.fetch', 'Time of fetching a media from its URL.');
    this.#decodings = new WorkTelemetry(
      telemetry,
      'aana.media.decode',
      'Time of decoding audio or an image, waiting for a place included.',
    );
    this.#sizes = telemetry.histogram('aana.media.fetch.size', {
      unit: 'By',
      description: 'Bytes of a media that was fetched from its URL.',
    });
  }

  fetch<T>(traceparent: string | undefined, fetching: () => Promise<T>): Promise<T> {
    return this.#fetches.run({}, traceparent, fetching);
  }

  fetched(bytes: number): void {
    this.#sizes.record(bytes);
  }

  decode<T>(decoded: Decoded, traceparent: string | undefined, decoding: () => Promise<T>): Promise<T> {
    return this.#decodings.run({ 'aana.media': decoded }, traceparent, decoding);
  }
}
