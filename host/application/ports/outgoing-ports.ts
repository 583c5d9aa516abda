import { authorityFiles, type Config } from '../../base/config/index.ts';
import { AanaError } from '../../base/core/errors.ts';
import {
  isForeignAddress,
  literalAddress,
  type Network,
  networkOf,
  type NetworkSettings,
  openGuarded,
  requestGuarded,
  withoutCredentials,
} from '../../io/outgoing/index.ts';
import type { PostMessage } from '../../data/webhooks/index.ts';
import type { HttpPort, HttpRequest } from '../../endpoints/plugins/index.ts';

/** Returns the proxies and certificate authorities for outgoing requests. */
export function networkFrom(config: Config): Network {
  return networkOf(networkSettings(config));
}

export function networkSettings(config: Config): NetworkSettings {
  const {
    http_proxy: httpProxy,
    https_proxy: httpsProxy,
    no_proxy: noProxy,
    proxy_resolves: proxyResolves,
  } = config.outgoing;
  return {
    httpProxy,
    httpsProxy,
    noProxy: noProxy?.split(/[\s,]+/).filter((entry) => entry !== '') ?? [],
    proxyResolves,
    authorityFiles: authorityFiles(config),
  };
}

/**
 * Limits of plugins' requests. They are small compared to media; a larger or slower answer is a mistake or an attack.
 */
const REQUEST_LIMITS = { maxBytes: 8 * 1024 * 1024, timeoutMs: 60_000, idleTimeoutMs: 15_000 };
/** A language model can be silent for long before its answer. The time of the invocation limits an exchange as well. */
const EXCHANGE_LIMITS = { maxBytes: 256 * 1024 * 1024, idleTimeoutMs: 120_000 };

/** Returns the port through which plugins with the capability `http` make requests. */
export function httpPort({ media, telemetry }: Config, network: Network): HttpPort {
  const isTraced = tracedHosts(telemetry.traces.propagate_to);
  const guards = {
    network,
    maxRedirects: media.max_redirects,
    allowPrivate: media.allow_private_urls,
  };
  const traced = <R extends HttpRequest>(request: R, traceparent: string | undefined): R =>
    isTraced(request.url) ? { ...request, headers: withTraceparent(request.headers, traceparent) } : request;
  return {
    fetch: (request, { traceparent, ...options }) =>
      requestGuarded(traced(request, traceparent), { ...guards, ...REQUEST_LIMITS, ...options }),
    open: ({ followRedirects, ...request }, { traceparent, ...options }) =>
      openGuarded(traced(request, traceparent), {
        ...{ ...guards, ...EXCHANGE_LIMITS, ...options },
        ...(!followRedirects && { maxRedirects: 0 }),
      }),
  };
}

type Headers = HttpRequest['headers'];

/** Adds the header, unless the plugin has set one. */
function withTraceparent(headers: Headers, traceparent: string | undefined): Headers {
  const isGiven = headers.some(([name]) => name.toLowerCase() === 'traceparent');
  return traceparent === undefined || isGiven ? headers : [...headers, ['traceparent', traceparent]];
}

/** Returns whether a URL's host is one of `hosts`, or with `*.example.org` below one of them. */
function tracedHosts(hosts: readonly string[]): (url: string) => boolean {
  return (url) => {
    if (hosts.length === 0 || !URL.canParse(url)) return false;
    const { hostname } = new URL(url);
    return hosts.some((host) => (host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host));
  };
}

/** Limits of webhooks' requests. Only the status of an answer is used. */
const WEBHOOK_LIMITS = { maxBytes: 1024 * 1024, maxRedirects: 0 };

/** Returns the functions that send webhooks and refuse forbidden targets. */
export function webhookPorts(
  { webhook }: Config,
  network: Network,
): { readonly post: PostMessage; readonly refusalOf: (url: URL) => string | undefined } {
  const allowPrivate = webhook.allow_private_urls;
  const refusal = (host: string): string =>
    `webhooks are not sent to ${host}, which is private or local; set webhook.allow_private_urls ` +
    `(WEBHOOK__ALLOW_PRIVATE_URLS=true) to allow it`;
  return {
    post: async ({ url, headers, body, timeoutMs, signal }) => {
      try {
        return await requestGuarded(
          { method: 'post', url, headers, body },
          {
            ...WEBHOOK_LIMITS,
            network,
            timeoutMs,
            idleTimeoutMs: timeoutMs,
            allowPrivate,
            refusalOf: () => undefined,
            signal,
          },
        );
      } catch (error) {
        if (!(error instanceof AanaError)) throw error;
        // The reason is logged, so it must not contain the URL, which may have a secret.
        const reason =
          error.name === 'PrivateAddressException'
            ? refusal(new URL(url).hostname)
            : error.message.replace(`cannot fetch ${withoutCredentials(url)}: `, '');
        throw new AanaError(error.name, error.kind, reason, { cause: error });
      }
    },
    refusalOf: ({ hostname }) => {
      const address = literalAddress(hostname);
      const isPrivate = address === undefined ? /(^|\.)localhost\.?$/.test(hostname) : !isForeignAddress(address);
      return isPrivate && !allowPrivate ? refusal(hostname) : undefined;
    },
  };
}
