import type { Endpoint } from '../endpoints/index.ts';
import { fileKeys } from '../endpoints/index.ts';
import { schemaExample } from '../http/index.ts';

/** A command line that tries an endpoint: one that takes a file, when `sample` is one. Undefined without endpoints. */
export function curlLine(endpoints: readonly Endpoint[], url: string, sample: string | undefined): string | undefined {
  const endpoint = endpoints.find((one) => fileKeys(one.inputSchema).length > 0) ?? endpoints[0];
  if (!endpoint) return undefined;
  const example = schemaExample(endpoint.inputSchema);
  const takesFile = fileKeys(endpoint.inputSchema).length > 0;
  return [
    endpoint.streaming ? 'curl -sN' : 'curl -s',
    `-F ${quote(`body=${JSON.stringify(example)}`)}`,
    ...(takesFile ? [`-F ${quote(`file=@${sample ?? 'video.mp4'}`)}`] : []),
    `${url}${endpoint.path}`,
  ].join(' ');
}

function quote(text: string): string {
  return /^[\w@=./:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
