declare module 'node:async_hooks' {
  export class AsyncLocalStorage<T> {
    run<R>(store: T, call: () => R): R;
    getStore(): T | undefined;
  }
}
