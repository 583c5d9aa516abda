// The same endpoint written by hand: Koa, koa-body and zod. Started by ../http.ts.
import { createServer } from 'node:http';
import Koa, { type Context } from 'koa';
import { koaBody } from 'koa-body';
import { Input } from '../plugins/schemas.ts';
import { portOf, served } from '../plugins/served.ts';

const app = new Koa();
app.silent = true;
app.use(koaBody());
app.use((ctx: Context) => {
  const { text, count } = Input.parse(ctx.request.body);
  ctx.body = { text, count };
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
