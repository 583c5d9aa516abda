/**
 * `structuredClone` for components whose code names it. It clones data with cycles. It cannot clone functions and
 * handles of the host.
 */
import { CLONE, type Cloneable } from './clone.ts';

declare const DOMException: new (message: string, name: string) => Error;

const BOXES = [Boolean, Number, String, BigInt];
/** What the standard refuses, by the names of classes. */
const REFUSED = new RegExp(
  '^(?:WeakMap|WeakSet|WeakRef|Promise|Symbol|Generator|AsyncGenerator|.*Iterator|FinalizationRegistry|' +
    'Headers|Request|Response|FormData|URL|URLSearchParams|Abort(?:Controller|Signal)|' +
    '(?:Readable|Writable|Transform)Stream)$',
);
const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

/** Clones a value. What is in `transfer` moves to the clone. */
export function structuredClone<T>(value: T, options?: { readonly transfer?: Iterable<unknown> }): T {
  const transferred = [...(options?.transfer ?? [])];
  if (transferred.some((one, at) => !(one instanceof ArrayBuffer) || transferred.indexOf(one) !== at))
    throw new DOMException('only an ArrayBuffer can be transferred, and once', 'DataCloneError');
  const copy = cloneOf(value, new Map()) as T;
  for (const buffer of transferred as Movable[]) buffer.transfer();
  return copy;
}

/** The interpreter has this method, which Node 20 lacks. */
type Movable = ArrayBuffer & { transfer(): ArrayBuffer };

function cloneOf(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value === 'symbol' || typeof value === 'function') throw refused(value);
  if (typeof value !== 'object' || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const keep = <C>(copy: C): C => {
    seen.set(value, copy);
    return copy;
  };
  if (Array.isArray(value)) return withProperties(value, keep(ofLength(value.length)), seen);
  if (value instanceof Date) return keep(new Date(value));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) return keep(viewOf(value, seen));
  if (BOXES.some((box) => value instanceof box)) return keep(Object(value.valueOf()));
  if (value instanceof Map) {
    const copy = keep(new Map<unknown, unknown>());
    for (const [key, entry] of [...value]) copy.set(cloneOf(key, seen), cloneOf(entry, seen));
    return copy;
  }
  if (value instanceof Set) {
    const copy = keep(new Set<unknown>());
    for (const entry of [...value]) copy.add(cloneOf(entry, seen));
    return copy;
  }
  if (value instanceof Error) return errorOf(value, keep, seen);
  if (CLONE in value) return keep((value as Cloneable)[CLONE]());
  if (REFUSED.test(Object.prototype.toString.call(value).slice(8, -1))) throw refused(value);
  return withProperties(value, keep({}), seen);
}

/** Clones an array. Holes stay holes. */
function ofLength(length: number): unknown[] {
  const array: unknown[] = [];
  array.length = length;
  return array;
}

function withProperties(from: object, to: object, seen: Map<object, unknown>): object {
  for (const [key, entry] of Object.entries(from)) {
    Object.defineProperty(to, key, {
      value: cloneOf(entry, seen),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return to;
}

function viewOf(view: ArrayBufferView, seen: Map<object, unknown>): ArrayBufferView {
  const buffer = cloneOf(view.buffer, seen) as ArrayBuffer;
  const View = view.constructor as new (buffer: ArrayBuffer, offset: number, length: number) => ArrayBufferView;
  return new View(buffer, view.byteOffset, view instanceof DataView ? view.byteLength : (view as Uint8Array).length);
}

function errorOf(error: Error, keep: <C>(copy: C) => C, seen: Map<object, unknown>): Error {
  const { name, message } = error;
  const Kind = Object.hasOwn(ERRORS, name) ? ERRORS[name as keyof typeof ERRORS] : Error;
  const copy = keep(error instanceof DOMException ? new DOMException(message, name) : new Kind(message));
  Object.defineProperty(copy, 'stack', { value: error.stack, writable: true, configurable: true });
  if (Object.hasOwn(error, 'cause'))
    Object.defineProperty(copy, 'cause', { value: cloneOf(error.cause, seen), writable: true, configurable: true });
  return copy;
}

const refused = (value: unknown): Error =>
  new DOMException(
    `${typeof value === 'object' ? Object.prototype.toString.call(value) : String(value)} could not be cloned.`,
    'DataCloneError',
  );
