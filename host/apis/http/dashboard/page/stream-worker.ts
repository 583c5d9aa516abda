// Runs once for all tabs, so that they share one stream and one token.
import { type Message, watchApplication } from './stream.ts';

const ports = new Set<MessagePort>();
let last: Message | undefined;
let watching: { readonly token: string; readonly end: AbortController } | undefined;

/** What tabs send: the token to use, or that they end. */
export type TabMessage = { readonly type: 'open'; readonly token: string } | { readonly type: 'close' };

function watch(token: string): void {
  if (watching?.token === token && last?.type !== 'refused') return;
  watching?.end.abort();
  const end = new AbortController();
  watching = { token, end };
  last = undefined;
  const tell = (message: Message): void => {
    if (end.signal.aborted) return;
    last = message;
    for (const port of ports) port.postMessage(message);
  };
  void watchApplication(token, tell, end.signal);
}

function close(port: MessagePort): void {
  ports.delete(port);
  if (ports.size > 0) return;
  watching?.end.abort();
  watching = undefined;
}

addEventListener('connect', (event) => {
  const port = (event as MessageEvent).ports[0]!;
  ports.add(port);
  port.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
    if (data.type === 'open') watch(data.token);
    else close(port);
  });
  port.start();
  if (last?.type === 'state') port.postMessage(last);
});
