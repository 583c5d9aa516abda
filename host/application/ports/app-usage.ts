import type { Config } from '../../base/config/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Telemetry } from '../../base/core/telemetry.ts';
import { type Network, requestGuarded } from '../../io/outgoing/index.ts';
import type { Storage } from '../../data/storage/index.ts';
import { type PostUsage, Usage } from '../../data/usage/index.ts';
import { fromPairs } from './otlp-options.ts';

export interface AppUsageOptions {
  readonly config: Config;
  readonly storage: Storage;
  readonly network: Network;
  readonly log: Logger;
  readonly telemetry: Telemetry;
}

/** Only the status of an answer is used. */
const MOST_ANSWER_BYTES = 1024 * 1024;

/** Returns what measures the requests of an application. */
export function appUsage({ config, storage, network, log, telemetry }: AppUsageOptions): Usage {
  const { usage, name } = config;
  const source = `/aana-host/${encodeURIComponent(name)}`;
  const post = postTo(usage.http.url ?? '', fromPairs(usage.http.headers), network);
  return new Usage({ config: usage, storage, post, source, log, telemetry });
}

/** The operator chose the URL, so that it may be a private address. */
function postTo(url: string, headers: Readonly<Record<string, string>>, network: Network): PostUsage {
  return async (body, { contentType, timeoutMs, signal }) => {
    const { status } = await requestGuarded(
      {
        method: 'post',
        url,
        headers: [['content-type', contentType], ...Object.entries(headers)],
        body: Buffer.from(body),
      },
      {
        ...{ maxBytes: MOST_ANSWER_BYTES, maxRedirects: 0, network, timeoutMs, idleTimeoutMs: timeoutMs, signal },
        allowPrivate: true,
        refusalOf: () => undefined,
      },
    );
    return status;
  };
}
