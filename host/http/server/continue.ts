import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';

/** Requests whose clients wait for a word before they send the body. */
const waiting = new WeakSet<IncomingMessage>();

/** Keeps a client waiting that has sent `expect: 100-continue`, until its body is wanted. */
export function holdBody(req: IncomingMessage): void {
  waiting.add(req);
}

/** Lets a client that waits send its body. What is refused before is refused without it. */
export function letBodyCome({ req, res }: Context): void {
  if (waiting.delete(req)) res.writeContinue();
}
