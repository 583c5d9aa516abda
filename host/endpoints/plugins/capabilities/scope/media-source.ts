import { fail } from '../../../../base/core/errors.ts';
import type { Granted } from '../../rights/grants.ts';
import type { MediaSource, OpenMediaOptions } from '../../ports.ts';
import type { Source } from '../../../../../wit/generated/world/media.ts';
import type { RequestUrls } from './request-urls.ts';

/**
 * Returns the source that a guest opens, and the rule for fetching it. A URL must be in the request's input or lead to
 * a granted host, because any other URL could carry away the plugin's data in its path or query. Throws `HostDenied`.
 */
export function mediaSource(
  source: Source,
  granted: Granted,
  requestUrls: RequestUrls,
): { readonly source: MediaSource; readonly refusalOf?: OpenMediaOptions['refusalOf'] } {
  const { path, url, content, mediaId } = source;
  const media: MediaSource = {
    ...(path !== undefined && { path }),
    ...(url !== undefined && { url }),
    ...(content !== undefined && { content }),
    ...(mediaId !== undefined && { media_id: mediaId }),
  };
  if (url === undefined || !isHttp(url) || requestUrls.has(url)) return { source: media };
  const { host } = new URL(url);
  const refusal = granted.refusalOfUrl(new URL(url));
  if (refusal !== undefined)
    throw fail(
      'HostDenied',
      `media of ${host} cannot be opened: the URL is not in the request's input, and ${refusal}`,
      { data: { host } },
    );
  return { source: media, refusalOf: granted.refusalOfUrl };
}

/** URLs with another scheme are refused where they are fetched. */
function isHttp(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
