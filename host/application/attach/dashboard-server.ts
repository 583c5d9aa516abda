import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { KeyLookUps } from '../../data/access/index.ts';
import type { Config } from '../../base/config/index.ts';
import { AanaError } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { HttpServer } from '../../apis/http/index.ts';

const TOKEN_BYTES = 24;

export interface DashboardServerOptions {
  readonly config: Pick<Config, 'dashboard' | 'limits' | 'rate_limits'>;
  /** Returns the request listener for the server of the dashboard. */
  readonly callback: (at: {
    readonly listensAt: string;
    readonly token: string;
    readonly guesses: KeyLookUps;
  }) => (req: IncomingMessage, res: ServerResponse) => void;
  readonly log: Logger;
}

/** The server of the dashboard, on a port of its own. */
export class DashboardServer {
  /** The address that opens the page. Browsers send what follows `#` to no server, so no log has the token. */
  readonly url: string;
  readonly #server: HttpServer;

  private constructor(server: HttpServer, url: string) {
    this.#server = server;
    this.url = url;
  }

  /** Listens on the configured port, or on a free one if it is taken. Throws `ListenError`. */
  static async open({ config, callback, log }: DashboardServerOptions): Promise<DashboardServer> {
    const { host, port, token: chosen } = config.dashboard;
    const token = chosen ?? randomBytes(TOKEN_BYTES).toString('base64url');
    const listener = callback({ listensAt: host, token, guesses: new KeyLookUps(config.rate_limits.refused_keys) });
    const listen = async (on: number): Promise<DashboardServer> => {
      const server = new HttpServer(listener, config.limits, { log });
      const { url } = await server.listen(host, on);
      return new DashboardServer(server, `${url}/#token=${token}`);
    };
    try {
      return await listen(port);
    } catch (error) {
      if (!(error instanceof AanaError && error.kind === 'unavailable') || port === 0) throw error;
      log.info('the port of the dashboard is taken, so it uses another one', { port });
      return listen(0);
    }
  }

  close(): Promise<void> {
    return this.#server.close(0);
  }
}
