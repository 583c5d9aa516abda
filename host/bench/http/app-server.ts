// An application as a user writes it: an endpoint in host code and the benchmark's plugin. Serves HTTPS if the
// environment names a certificate. Started by ../http.ts.
import { join } from 'node:path';
import type * as z from 'zod';
import { AanaApp } from '../../application/app.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { descendants } from '../../test/helpers/server.ts';
import { Input, Output } from '../plugins/schemas.ts';
import { served } from '../plugins/served.ts';

const app = new AanaApp({ name: 'benchmark', progress: { write: () => true } });
app.registerEndpoint({
  name: 'host_noop',
  path: '/noop',
  summary: 'For the benchmark',
  input: Input,
  output: Output,
  run: async ({ text, count }: z.output<typeof Input>) => ({ text, count }),
});
app.registerPlugins(join(packageRoot, 'host/bench/fixtures/bench-plugin'));
await app.listen({ host: '127.0.0.1', port: 0, show_logs: false });
await app.deploy();
const sandboxes = (await descendants(process.pid)).map(({ pid }) => pid);
served({
  port: Number(new URL(app.url ?? '').port),
  sandboxes: () => sandboxes,
  close: () => app.shutdown({ graceMs: 0 }),
});
