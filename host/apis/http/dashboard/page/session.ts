import { type Message, watchApplication } from './stream.ts';
import type { TabMessage } from './stream-worker.ts';

const KEY = 'aana-dashboard-token';

/** Takes the token out of the address, so that it is in no history and no bookmark, else returns the tab's own. */
export function takeToken(): string | undefined {
  const given = /^#token=([\w~-]+)$/.exec(location.hash)?.[1];
  if (given !== undefined) {
    keepToken(given);
    history.replaceState(undefined, '', '#/');
  }
  return given ?? sessionStorage.getItem(KEY) ?? undefined;
}

/** Keeps a token as long as the tab is open. */
export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function dropToken(): void {
  sessionStorage.removeItem(KEY);
}

/** The stream of states, shared by the tabs of this browser where it can. */
export interface Live {
  /** Uses this token from now on. */
  open(token: string): void;
  close(): void;
}

/** Connects to the stream. Without a token of its own, the tab gets that of another open tab with the first state. */
export function connectLive(listen: (message: Message) => void): Live {
  if (typeof SharedWorker === 'undefined') return ownStream(listen);
  const { port } = new SharedWorker('/assets/stream-worker.js', { type: 'module', name: 'aana-dashboard' });
  const send = (message: TabMessage): void => port.postMessage(message);
  port.addEventListener('message', ({ data }: MessageEvent<Message>) => listen(data));
  port.start();
  return { open: (token) => send({ type: 'open', token }), close: () => send({ type: 'close' }) };
}

function ownStream(listen: (message: Message) => void): Live {
  let end = new AbortController();
  return {
    open: (token) => {
      end.abort();
      end = new AbortController();
      void watchApplication(token, listen, end.signal);
    },
    close: () => end.abort(),
  };
}
