import type { Histogram, Telemetry } from '../../base/core/telemetry.ts';
import { WorkTelemetry } from '../../base/core/work-telemetry.ts';

/** The kind of media that is decoded. */
type Decoded = 'audio' | 'image' | 'frame';

/** Reports the fetching and decoding of media. URLs are not attributes, because clients choose them. */
export class MediaTelemetry {
  readonly #fetches: WorkTelemetry;
  readonly #decodings: WorkTelemetry;
  readonly #sizes: Histogram;

  constructor(telemetry: Telemetry) {
    this.#fetches = new WorkTelemetry(telemetry, 'aana.media.fetch', {
      description: 'Time of fetching media from its URL.',
    });
    this.#decodings = new WorkTelemetry(telemetry, 'aana.media.decode', {
      description: 'Time of decoding audio, an image or a frame, including the wait for a free decoder.',
      attributes: ['aana.media'],
    });
    this.#sizes = telemetry.histogram('aana.media.fetch.size', {
      unit: 'By',
      description: 'Bytes of media fetched from a URL.',
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
