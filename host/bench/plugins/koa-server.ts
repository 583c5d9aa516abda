// The same endpoints written by hand: Koa, koa-body and zod. Started by ../plugins.ts.
import { createServer } from 'node:http';
import Koa, { type Context } from 'koa';
import { koaBody } from 'koa-body';
import { Input } from './schemas.ts';
import { portOf, served } from './served.ts';

const app = new Koa();
app.silent = true;
app.use(koaBody({ multipart: true }));
app.use((ctx: Context) => {
  const { text, count } = Input.parse(JSON.parse(String((ctx.request.body as Record<string, unknown>)['body'])));
  if (ctx.path === '/bench/noop') {
    ctx.body = { text, count };
    return;
  }
  ctx.respond = false;
  ctx.res.writeHead(200, { 'content-type': 'application/json-seq' });
  let sent = 0;
  // Writes one chunk in each turn of the event loop, like the tokens of a model. Otherwise Node would join all of them
  // into one write.
  const next = (): void => {
    if (sent++ === count) ctx.res.end();
    else {
      ctx.res.write(JSON.stringify({ text }));
      setImmediate(next);
    }
  };
  next();
});

const server = createServer({ noDelay: true }, app.callback());
server.listen(0, '127.0.0.1', () => {
  served({
    port: portOf(server),
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  });
});
