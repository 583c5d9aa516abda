/** Returns a request with JSON as a command for a shell. It names the variable of the key and never the key itself. */
export function curlOf(url: string, body: unknown, hasKey: boolean): string {
  return command(url, hasKey, [`-H 'content-type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]);
}

/** Returns a request with a file and other fields of a form as such a command. */
export function curlOfForm(
  url: string,
  file: string,
  fields: Readonly<Record<string, string>>,
  hasKey: boolean,
): string {
  const parts = Object.entries(fields).map(([name, value]) => `-F ${quoted(`${name}=${value}`)}`);
  return command(url, hasKey, [...parts, `-F ${quoted(`file=@"${file.replaceAll(/[\\"]/g, String.raw`\$&`)}"`)}`]);
}

function command(url: string, hasKey: boolean, options: readonly string[]): string {
  const key = hasKey ? ['-H "authorization: Bearer $AANA_API_KEY"'] : [];
  return [`curl -N ${quoted(url)}`, ...key, ...options].join(' \\\n  ');
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
