/** Media types (MIME Sniffing standard, 4). */

export interface MediaType {
  /** In lower case, such as `text/plain`. */
  readonly essence: string;
  /** By names in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const QUOTABLE = /^[\t\x20-\x7e\x80-\xff]*$/;
const ENDS = /^[\t\n\r ]+|[\t\n\r ]+$/g;
/** A parameter: its name, and its value in quotes or as it is. */
const PARAMETER = /;[\t\n\r ]*([^;=]*)(?:=(?:"((?:[^"\\]|\\[^]|\\$)*)"?[^;]*|([^;]*)))?/g;

/** Returns undefined for what is no media type. */
export function parseMediaType(text: string): MediaType | undefined {
  const [, type = '', subtype = '', rest = ''] = /^([^/]*)\/([^;]*)(.*)$/s.exec(text.replace(ENDS, '')) ?? [];
  const bare = subtype.replace(ENDS, '');
  if (!TOKEN.test(type) || !TOKEN.test(bare) || /^[\t\n\r ]/.test(subtype)) return undefined;
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, plain = ''] of rest.matchAll(PARAMETER)) {
    const value = quoted?.replace(/\\([^])/g, '$1') ?? plain.replace(/[\t\n\r ]+$/, '');
    const key = name.toLowerCase();
    if ((quoted === undefined && value === '') || parameters.has(key)) continue;
    if (TOKEN.test(key) && QUOTABLE.test(value)) parameters.set(key, value);
  }
  return { essence: `${type}/${bare}`.toLowerCase(), parameters };
}

export function mediaTypeText({ essence, parameters }: MediaType): string {
  const quoted = (value: string): string => (TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`);
  return essence + Array.from(parameters, ([name, value]) => `;${name}=${quoted(value)}`).join('');
}
