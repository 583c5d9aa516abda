import { readFile, writeFile } from 'node:fs/promises';
import { generateClient } from '../../apis/openapi/client-generator/index.ts';
import { fail } from '../../base/core/errors.ts';

export interface ClientCommand {
  /** Address of the server, and default address in the client. */
  readonly url: string;
  /** OpenAPI document to read instead of the server's. */
  readonly openapi?: string | undefined;
  /** File to write. Default: the standard output. */
  readonly out?: string | undefined;
}

const TIMEOUT_MS = 30_000;

/** The command `client`. Writes a client for a server as one TypeScript file. */
export async function client(
  { url, openapi, out }: ClientCommand,
  stdout: { write(text: string): unknown },
): Promise<void> {
  const address = serverAddress(url);
  const document = parsed(...(openapi === undefined ? await fetched(address) : await read(openapi)));
  const text = await generateClient(document, { baseUrl: address });
  if (out === undefined) return void stdout.write(text);
  await writeFile(out, text).catch((cause: Error) => {
    throw fail('ClientFileError', `${out} cannot be written: ${cause.message}`, { cause });
  });
  stdout.write(`${out}\n`);
}

function serverAddress(url: string): string {
  const parsedUrl = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsedUrl || !/^https?:$/.test(parsedUrl.protocol))
    throw fail('ValidationError', `--url: ${JSON.stringify(url)} is not an address such as http://127.0.0.1:8000`);
  return `${parsedUrl.origin}${parsedUrl.pathname}`.replace(/\/+$/, '');
}

async function fetched(address: string): Promise<[text: string, what: string]> {
  const what = `${address}/openapi.json`;
  const response = await fetch(what, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((cause: Error) => {
    const reason = cause.cause instanceof Error ? cause.cause.message : cause.message;
    throw fail('NotRunning', `no server answers at ${what}: ${reason}`, { cause });
  });
  if (!response.ok) throw fail('NotRunning', `${what} answered with status ${response.status}; is it an aana-host?`);
  return [await response.text(), what];
}

async function read(file: string): Promise<[text: string, what: string]> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw fail('ValidationError', `--openapi: ${file} cannot be read: ${cause.message}`, {
      cause,
    });
  });
  return [text, file];
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fail('DocumentError', `${what} is not JSON: ${(cause as Error).message}`, {
      cause,
    });
  }
}
