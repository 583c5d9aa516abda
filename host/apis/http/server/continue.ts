import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';

/** Requests whose clients wait for `100 Continue` before they send the body. */
const waiting = new WeakSet<IncomingMessage>();

/** Makes a client that has sent `expect: 100-continue` wait until the host wants its body. */
export function holdBody(req: IncomingMessage): void {
  waiting.add(req);
}

/** Lets a waiting client send its body. A request that is refused earlier never sends it. */
export function letBodyCome({ req, res }: Context): void {
  if (waiting.delete(req)) res.writeContinue();
}
