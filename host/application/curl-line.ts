import type { ServedEndpoint } from '../endpoints/index.ts';
import { exampleFiles, schemaExample } from '../http/index.ts';

/** A command line that tries an endpoint: one that takes a file, when there is one; `sample` is that file. Undefined without endpoints. */
export function curlLine(endpoints: readonly ServedEndpoint[], url: string, sample: string | undefined): string | undefined {
  const takesFile = (endpoint: ServedEndpoint): boolean => exampleFiles(endpoint.inputSchema).length > 0;
  const endpoint = endpoints.find(({ name }) => name === 'transcribe_video') ?? endpoints.find(takesFile) ?? endpoints[0];
  if (!endpoint) return undefined;
  return [
    endpoint.streaming ? 'curl -sN' : 'curl -s',
    `-F ${quote(`body=${JSON.stringify(schemaExample(endpoint.inputSchema))}`)}`,
    ...exampleFiles(endpoint.inputSchema).map((name) => `-F ${quote(`${name}=@${sample ?? 'video.mp4'}`)}`),
    `${url}${endpoint.path}`,
  ].join(' ');
}

function quote(text: string): string {
  return /^[\w@=./:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
