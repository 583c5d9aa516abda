import type { Counter, Gauge, Histogram, Telemetry } from '../../base/core/telemetry.ts';
import { WorkTelemetry } from '../../base/core/work-telemetry.ts';

/** The kind of media that is decoded. */
type Decoded = 'audio' | 'image' | 'frame';

/** How a URL was served without the transfer of its file: kept, confirmed by its server, or with another request. */
type Reuse = 'fresh' | 'confirmed' | 'joined';

/** Reports the fetching and decoding of media. URLs are not attributes, because clients choose them. */
export class MediaTelemetry {
  readonly #fetches: WorkTelemetry;
  readonly #decodings: WorkTelemetry;
  readonly #sizes: Histogram;
  readonly #reuses: Counter;
  readonly #reusedBytes: Counter;
  readonly #cacheSize: Gauge;

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
    this.#reuses = telemetry.counter('aana.media.reuses', {
      description:
        'URLs served without a transfer: from the cache (fresh), after a question to the server (confirmed), or with ' +
        'the download of another request (joined).',
      attributes: ['aana.media.reuse'],
    });
    this.#reusedBytes = telemetry.counter('aana.media.reused', {
      unit: 'By',
      description: 'Bytes that came from the cache.',
    });
    this.#cacheSize = telemetry.gauge('aana.media.cache.size', {
      unit: 'By',
      description: 'Bytes of the files in the cache, of which each counts at least 65,536.',
    });
  }

  fetch<T>(traceparent: string | undefined, fetching: () => Promise<T>): Promise<T> {
    return this.#fetches.run({}, traceparent, fetching);
  }

  fetched(bytes: number): void {
    this.#sizes.record(bytes);
  }

  reused(reuse: Reuse, bytes: number): void {
    this.#reuses.add(1, { 'aana.media.reuse': reuse });
    this.#reusedBytes.add(bytes);
  }

  cacheSize(bytes: number): void {
    this.#cacheSize.set(bytes);
  }

  decode<T>(decoded: Decoded, traceparent: string | undefined, decoding: () => Promise<T>): Promise<T> {
    return this.#decodings.run({ 'aana.media': decoded }, traceparent, decoding);
  }
}
