/** The request of the samples. */
export interface SampleRequest {
  readonly url: string;
  readonly body: unknown;
  /** Names of the file parts that the body names. */
  readonly files: readonly string[];
  readonly isStream: boolean;
  /** Whether the server needs an API key. The samples read it from the variable AANA_API_KEY. */
  readonly hasKey: boolean;
}

/** An entry of `x-codeSamples`, which Redoc and other pages show. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** Returns the name of a file that the sample uploads from the current folder. */
export function sampleFile(part: string): string {
  return `${part}.mp4`;
}

/** Returns the request for curl, in TypeScript (which is also valid JavaScript) and in Python. */
export function codeSamples(request: SampleRequest): CodeSample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curl(request) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(request) },
    { lang: 'Python', label: 'Python', source: python(request) },
  ];
}

function curl({ url, body, files, isStream, hasKey }: SampleRequest): string {
  return [
    `curl -s${isStream ? 'N' : ''} ${shellQuoted(url)}`,
    ...(hasKey ? [`-H "x-api-key: $AANA_API_KEY"`] : []),
    `-F ${shellQuoted(`body=${JSON.stringify(body)}`)}`,
    ...files.map((name) => `-F ${shellQuoted(`${name}=@${sampleFile(name)}`)}`),
  ].join(' \\\n  ');
}

function typescript({ url, body, files, isStream, hasKey }: SampleRequest): string {
  const imports = [
    ...(files.length > 0 ? [`import { openAsBlob } from 'node:fs';`] : []),
    ...(hasKey ? [`import { env } from 'node:process';`] : []),
  ];
  const headers = hasKey ? `, headers: { 'x-api-key': env.AANA_API_KEY ?? '' }` : '';
  return [
    ...imports,
    ...(imports.length > 0 ? [''] : []),
    'const form = new FormData();',
    `form.set('body', JSON.stringify(${JSON.stringify(body)}));`,
    ...files.map(
      (name) =>
        `form.set(${jsQuoted(name)}, await openAsBlob(${jsQuoted(sampleFile(name))}), ${jsQuoted(sampleFile(name))});`,
    ),
    `const response = await fetch(${jsQuoted(url)}, { method: 'POST', body: form${headers} });`,
    ...(isStream
      ? ['for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) console.log(text);']
      : ['console.log(await response.json());']),
    '',
  ].join('\n');
}

function python({ url, body, files, isStream, hasKey }: SampleRequest): string {
  const data = `data={"body": json.dumps(${pythonLiteral(body)})}`;
  const parts = files.map((name) => `${JSON.stringify(name)}: open(${JSON.stringify(sampleFile(name))}, "rb")`);
  const given = [
    JSON.stringify(url),
    data,
    ...(parts.length > 0 ? [`files={${parts.join(', ')}}`] : []),
    ...(hasKey ? ['headers={"x-api-key": os.environ["AANA_API_KEY"]}'] : []),
    ...(isStream ? ['stream=True'] : []),
  ];
  return [
    'import json',
    ...(hasKey ? ['import os'] : []),
    '',
    'import requests',
    '',
    'response = requests.post(',
    ...given.map((one) => `    ${one},`),
    ')',
    ...(isStream
      ? ['for chunk in response.iter_content(chunk_size=None):', '    print(chunk.decode())']
      : ['print(response.json())']),
    '',
  ].join('\n');
}

function shellQuoted(text: string): string {
  return /^[\w@=./:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function jsQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Returns JSON with the constants of Python. JSON strings are valid Python strings. */
function pythonLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}: ${pythonLiteral(inner)}`)
    .join(', ')}}`;
}
