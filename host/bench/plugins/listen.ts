import { tmpdir } from 'node:os';
import type { Config } from '../../base/config/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { EndpointRegistry } from '../../endpoints/registry/index.ts';
import { createHttpFace, HttpServer, RouterSet } from '../../apis/http/index.ts';

/** Serves these endpoints over HTTP on a free port. */
export async function listen(
  registry: EndpointRegistry,
  { limits }: Config,
  log: Logger,
): Promise<{ readonly server: HttpServer; readonly port: number }> {
  const face = createHttpFace({
    title: 'benchmark',
    version: '1.0.0',
    registry,
    routers: new RouterSet(),
    status: () => ({ status: 'RUNNING', message: '', deployments: {} }),
    readiness: () => ({ ready: true, away: [] }),
    isDeployed: () => true,
    limits,
    includeStacktrace: false,
    tempDir: tmpdir(),
    log,
  });
  const server = new HttpServer(face.callback(), limits);
  const { port } = await server.listen('127.0.0.1', 0);
  return { server, port };
}
