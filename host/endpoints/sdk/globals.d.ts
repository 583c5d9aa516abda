// Globals of the guest and of Node. The published types name those of the project that imports them.

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
}

declare const AbortController: new () => { readonly signal: AbortSignal; abort(reason?: unknown): void };
