/** `FormData` (XMLHttpRequest standard, 4), in components whose code names it or `fetch`. */
import { joinedBytes } from '../../bytes.ts';
import { encodeUtf8 } from '../../utf8.ts';
import { bytes as randomBytes } from 'aana:host/random@0.1.0';
import { Blob, File } from './blob.ts';

type Value = string | File;

export class FormData implements Iterable<[string, Value]> {
  #entries: [name: string, value: Value][] = [];

  get [Symbol.toStringTag](): string {
    return 'FormData';
  }

  append(name: string, value: string | Blob, filename?: string): void {
    this.#entries.push([String(name), entryOf(value, filename)]);
  }

  set(name: string, value: string | Blob, filename?: string): void {
    const entry: [string, Value] = [String(name), entryOf(value, filename)];
    const at = this.#entries.findIndex(([key]) => key === entry[0]);
    this.#entries = this.#entries.filter(([key], index) => key !== entry[0] || index === at);
    if (at < 0) this.#entries.push(entry);
    else this.#entries[at] = entry;
  }

  delete(name: string): void {
    this.#entries = this.#entries.filter(([key]) => key !== String(name));
  }

  get(name: string): Value | null {
    return this.#entries.find(([key]) => key === String(name))?.[1] ?? null;
  }

  getAll(name: string): Value[] {
    return this.#entries.filter(([key]) => key === String(name)).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.#entries.some(([key]) => key === String(name));
  }

  forEach(call: (value: Value, name: string, form: FormData) => void, self?: unknown): void {
    for (const [name, value] of this) call.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, Value]> {
    for (const [name, value] of this.#entries) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this) yield name;
  }

  *values(): IterableIterator<Value> {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    return this.entries();
  }
}

/** Returns the form as the body of a request, with its media type (HTML, "multipart/form-data encoding algorithm"). */
export function encodedForm(form: FormData): { readonly type: string; readonly bytes: Uint8Array } {
  const boundary = `----form${Array.from(randomBytes(16), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
  const parts = [...form].flatMap(([name, value]) => {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${escaped(withLineEnds(name))}"`;
    if (typeof value === 'string') return [encodeUtf8(`${head}\r\n\r\n${withLineEnds(value)}\r\n`)];
    const type = value.type === '' ? 'application/octet-stream' : value.type;
    const whole = `${head}; filename="${escaped(value.name)}"\r\ncontent-type: ${type}\r\n\r\n`;
    return [encodeUtf8(whole), Blob.bytesOf(value), encodeUtf8('\r\n')];
  });
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    bytes: joinedBytes([...parts, encodeUtf8(`--${boundary}--\r\n`)]),
  };
}

function entryOf(value: string | Blob, filename: string | undefined): Value {
  if (!(value instanceof Blob)) return String(value);
  if (value instanceof File && filename === undefined) return value;
  const lastModified = value instanceof File ? { lastModified: value.lastModified } : {};
  return new File([value], filename ?? 'blob', { type: value.type, ...lastModified });
}

const withLineEnds = (text: string): string => text.replace(/\r\n|\r|\n/g, '\r\n');
const escaped = (text: string): string => text.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22');
