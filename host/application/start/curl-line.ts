import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { findFileReferences, methodOf, type ServedEndpoint } from '../../endpoints/registry/index.ts';
import { socketPath } from '../../apis/http/index.ts';
import { schemaExample } from '../../apis/openapi/index.ts';

/** The server's address, the file of its certificate, and whether it asks for an API key. */
export interface CurlTarget {
  /** Names of the deployments that serve. Endpoints that need others come last. Default: all that are needed. */
  readonly deployments?: ReadonlySet<string> | undefined;
  readonly url: string;
  readonly cert?: string | null | undefined;
  readonly asksForKey?: boolean | undefined;
}

/**
 * Returns a command line that tries an endpoint with POST, preferably one that takes a file: for a video `sample`, or a
 * name that stands for a file of the reader. Undefined without such an endpoint.
 */
export function curlLine(
  endpoints: readonly ServedEndpoint[],
  { url, cert, asksForKey = false, deployments }: CurlTarget,
  sample: string | undefined,
): string | undefined {
  const takesFile = ({ inputSchema }: ServedEndpoint): boolean => exampleFiles(inputSchema, sample).length > 0;
  const posts = withMostDeployments(
    endpoints.filter((endpoint) => methodOf(endpoint) === 'POST' && !endpoint.path.includes('{')),
    deployments,
  );
  const endpoint = posts.find(({ name }) => name === 'transcribe_video') ?? posts.find(takesFile) ?? posts[0];
  if (!endpoint) return undefined;
  const socket = socketPath(url);
  return [
    endpoint.streaming ? 'curl -sN' : 'curl -s',
    ...(socket === undefined ? [] : [`--unix-socket ${quote(socket)}`]),
    ...(cert && url.startsWith('https:') && isSelfSigned(cert) ? [`--cacert ${quote(cert)}`] : []),
    ...(asksForKey ? ['-H "x-api-key: $AANA_API_KEY"'] : []),
    `-F ${quote(`body=${JSON.stringify(schemaExample(endpoint.inputSchema) ?? {})}`)}`,
    ...exampleFiles(endpoint.inputSchema, sample).map((file) => `-F ${quote(file)}`),
    `${socket === undefined ? url : 'http://localhost'}${endpoint.path}`,
  ].join(' ');
}

/**
 * Returns the endpoints that lack the fewest of their deployments, because some are only used where they are there.
 * Leaves out those that lack all.
 */
function withMostDeployments(
  endpoints: readonly ServedEndpoint[],
  serving: ReadonlySet<string> | undefined,
): readonly ServedEndpoint[] {
  if (!serving) return endpoints;
  const lacked = ({ deployments = [] }: ServedEndpoint): number => {
    const count = deployments.filter((name) => !serving.has(name)).length;
    return count > 0 && count === deployments.length ? Infinity : count;
  };
  const fewest = Math.min(...endpoints.map(lacked));
  return endpoints.filter((endpoint) => fewest < Infinity && lacked(endpoint) === fewest);
}

/** Names that stand for a file of the reader, by what it is. */
export const ownFiles = { video: 'video.mp4', image: 'image.png', file: 'your-file' };

/** Returns the file parts to which the example of a schema refers. Only media are named by a key `content`. */
function exampleFiles(schema: object, sample: string | undefined): readonly string[] {
  const parts = findFileReferences(schema, schemaExample(schema)).map(({ name, loc }) => {
    if (loc.at(-1) !== 'content') return `${name}=@${ownFiles.file}`;
    const isImage = loc.some((key) => key === 'image' || key === 'images');
    return `${name}=@${isImage ? ownFiles.image : (sample ?? ownFiles.video)}`;
  });
  return [...new Set(parts)];
}

/** Returns whether the certificate is self-signed, so that curl must be told to trust it. */
function isSelfSigned(file: string): boolean {
  try {
    const { issuer, subject } = new X509Certificate(readFileSync(file));
    return issuer === subject;
  } catch {
    return false; // the file is being replaced
  }
}

function quote(text: string): string {
  return /^[\w@=./:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
