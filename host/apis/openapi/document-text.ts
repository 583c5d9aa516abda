import { createHash } from 'node:crypto';

/** A document in the form in which it is sent. */
export interface DocumentText {
  readonly body: Buffer;
  readonly etag: string;
}

export interface OpenApiTextOptions {
  /** Builds the document for a server at this address, such as `http://127.0.0.1:8000`, mounted below a path. */
  readonly build: (origin: string, mountPath: string) => object;
  /** Returns a different value after each change of what the document says. */
  readonly version: () => unknown;
}

/**
 * Placeholder in the stored documents for the address of the server, because each client chooses the address by its
 * `Host`. The one in brackets is for IPv6 addresses, which code samples quote differently.
 */
const STAND_IN = 'http://aana-host.invalid';
const STAND_IN_IPV6 = 'http://[aana-host.invalid]';
/** An address that needs no escapes in the texts of a document. */
const PLAIN_ORIGIN = /^https?:\/\/(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i;
const MOST_KEPT = 8;

/**
 * The OpenAPI document as text. It is built once for each change of the endpoints. A request costs a look-up, or the
 * replacement of the address.
 */
export class OpenApiText {
  readonly #options: OpenApiTextOptions;
  #version: unknown = {};
  readonly #templates = new Map<string, string>();
  readonly #texts = new Map<string, DocumentText>();

  constructor(options: OpenApiTextOptions) {
    this.#options = options;
  }

  at(origin: string, mountPath: string): DocumentText {
    const version = this.#options.version();
    if (version !== this.#version) {
      this.#templates.clear();
      this.#texts.clear();
      this.#version = version;
    }
    const address = PLAIN_ORIGIN.test(origin) ? origin : 'http://localhost';
    return kept(this.#texts, `${address} ${mountPath}`, () => this.#textFor(address, mountPath));
  }

  #textFor(address: string, mountPath: string): DocumentText {
    const standIn = address.includes('[') ? STAND_IN_IPV6 : STAND_IN;
    const template = kept(this.#templates, `${standIn} ${mountPath}`, () =>
      JSON.stringify(this.#options.build(standIn, mountPath)),
    );
    const body = Buffer.from(template.replaceAll(standIn, () => address));
    return { body, etag: `"${createHash('sha256').update(body).digest('base64url')}"` };
  }
}

/** Returns the value under a key, or makes it. The oldest value is removed if the map is full. */
function kept<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  const [oldest] = map.keys();
  if (map.size >= MOST_KEPT && oldest !== undefined) map.delete(oldest);
  map.set(key, made);
  return made;
}
