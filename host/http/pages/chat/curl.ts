/** Returns a request as a command for a shell. It names the variable of the key and never the key itself. */
export function curlOf(url: string, body: unknown, hasKey: boolean): string {
  return [
    `curl ${quoted(url)}`,
    `-H 'content-type: application/json'`,
    ...(hasKey ? ['-H "authorization: Bearer $AANA_API_KEY"'] : []),
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n  ');
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
