/** `EventTarget`, `Event`, `AbortController` and `AbortSignal`, in components whose code names them. */
import { enqueue, setTimer } from '../event-loop.ts';

declare const DOMException: new (message: string, name: string) => Error;

type Listener = ((event: Event) => void) | { handleEvent(event: Event): void };

export class Event {
  readonly type: string;
  readonly cancelable: boolean;
  target: EventTarget | null = null;
  defaultPrevented = false;
  /** @internal */
  isStopped = false;

  constructor(type: string, { cancelable = false }: { readonly cancelable?: boolean } = {}) {
    this.type = String(type);
    this.cancelable = cancelable;
  }

  get currentTarget(): EventTarget | null {
    return this.target;
  }

  preventDefault(): void {
    if (this.cancelable) this.defaultPrevented = true;
  }

  stopImmediatePropagation(): void {
    this.isStopped = true;
  }

  stopPropagation(): void {} // an event has only one target here
}

/** Calls a listener. What it throws fails the run, and is no matter of other listeners or of who tells them. */
function tell(call: () => void): void {
  try {
    call();
  } catch (thrown) {
    enqueue(() => {
      throw thrown;
    });
  }
}

export class EventTarget {
  readonly #listeners: { type: string; listener: Listener; once: boolean }[] = [];

  addEventListener(
    type: string,
    listener: Listener | null | undefined,
    options?: boolean | { readonly once?: boolean; readonly signal?: AbortSignal } | null,
  ): void {
    const { once = false, signal } = typeof options === 'object' && options ? options : {};
    if (!listener || signal?.aborted || this.#find(type, listener) >= 0) return;
    this.#listeners.push({ type, listener, once });
    signal?.addEventListener('abort', () => this.removeEventListener(type, listener), { once: true });
  }

  removeEventListener(type: string, listener: Listener | null): void {
    const at = listener === null ? -1 : this.#find(type, listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  dispatchEvent(event: Event): boolean {
    event.target = this;
    for (const { type, listener, once } of [...this.#listeners]) {
      if (type !== event.type || this.#find(type, listener) < 0) continue;
      if (once) this.removeEventListener(type, listener);
      tell(() => (typeof listener === 'function' ? listener.call(this, event) : listener.handleEvent(event)));
      if (event.isStopped) break;
    }
    return !event.defaultPrevented;
  }

  #find(type: string, listener: Listener): number {
    return this.#listeners.findIndex((one) => one.type === type && one.listener === listener);
  }
}

export class AbortSignal extends EventTarget {
  onabort: ((event: Event) => void) | null = null;
  #aborted: { readonly reason: unknown } | undefined;

  get [Symbol.toStringTag](): string {
    return 'AbortSignal';
  }

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  get reason(): unknown {
    return this.#aborted?.reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#aborted.reason;
  }

  static abort(reason?: unknown): AbortSignal {
    const signal = new AbortSignal();
    signal.#abort(reason);
    return signal;
  }

  /** Is aborted with a `TimeoutError` after `ms` milliseconds. */
  static timeout(ms: number): AbortSignal {
    const signal = new AbortSignal();
    setTimer(() => signal.#abort(new DOMException('The operation timed out', 'TimeoutError')), ms, false);
    return signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const all = [...signals];
    const first = all.find((signal) => signal.aborted);
    if (first) return AbortSignal.abort(first.reason);
    const any = new AbortSignal();
    for (const signal of all) signal.addEventListener('abort', () => any.#abort(signal.reason), { once: true });
    return any;
  }

  /** @internal */
  static abortBy(signal: AbortSignal, reason: unknown): void {
    signal.#abort(reason);
  }

  #abort(reason: unknown = new DOMException('This operation was aborted', 'AbortError')): void {
    if (this.#aborted) return;
    this.#aborted = { reason };
    const event = new Event('abort');
    event.target = this;
    tell(() => this.onabort?.(event));
    this.dispatchEvent(event);
  }
}

export class AbortController {
  readonly signal = new AbortSignal();

  get [Symbol.toStringTag](): string {
    return 'AbortController';
  }

  abort(reason?: unknown): void {
    AbortSignal.abortBy(this.signal, reason);
  }
}
