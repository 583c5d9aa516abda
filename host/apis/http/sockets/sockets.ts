import type { Context } from 'koa';
import { clientNetwork } from '../../../data/access/index.ts';
import { delay } from '../../../base/core/abort.ts';
import { type AanaError, errorLogFields, fail, loggedStack, toErrorRecord } from '../../../base/core/errors.ts';
import { tenantOf, traceFields } from '../../../base/core/request-context.ts';
import type { UsageOutcome } from '../../../base/core/usage/usage-meter.ts';
import { callerOf, showsInside } from '../guards/caller.ts';
import { type RouteDefinition, whereOf } from '../../openapi/index.ts';
import type { HttpAppOptions } from '../options.ts';
import { keepMeter } from '../request/request-meter.ts';
import { workContextOf } from '../request/work-context.ts';
import { nothingAt } from '../response/error-body.ts';
import { shakeHands } from './handshake.ts';
import { OpenSocket } from './open-socket.ts';
import type { SocketLimits } from './sockets-options.ts';
import { SocketCounts } from './socket-counts.ts';
import type { RunProtocol, SocketRoute } from './socket-route.ts';

/** The WebSockets of an application. */
export class Sockets {
  readonly #routes: ReadonlyMap<string, SocketRoute>;
  readonly #limits: SocketLimits;
  readonly #options: HttpAppOptions;
  readonly #counts: SocketCounts;
  readonly #open = new Set<OpenSocket>();
  #closing: Promise<void> | undefined;

  constructor(routes: readonly SocketRoute[], limits: SocketLimits, options: HttpAppOptions) {
    this.#routes = new Map(routes.map((route) => [whereOf(route.definition).path, route]));
    this.#limits = limits;
    this.#options = options;
    this.#counts = new SocketCounts(limits);
  }

  /** The definitions of the paths that take WebSockets. */
  get definitions(): readonly RouteDefinition[] {
    return [...this.#routes.values()].map(({ definition }) => definition);
  }

  /** Whether a path takes WebSockets. */
  has(path: string): boolean {
    return this.#routes.has(path);
  }

  /** Opens the WebSocket of a request that has passed the guards. What it throws is the answer to the request. */
  async serve(ctx: Context): Promise<void> {
    const route = this.#routes.get(ctx.path);
    if (!route) throw nothingAt(ctx.path, this.#options);
    if (!this.#options.isDeployed())
      throw fail('NotReady', 'the application is starting: try again when /api/ready answers 200');
    if (this.#closing) throw shuttingDown();
    const run = route.accept(ctx);
    const { userId } = callerOf(ctx);
    const leave = this.#counts.take(tenantOf({ userId, client: clientNetwork(ctx.ip) }));
    let socket: OpenSocket;
    try {
      socket = this.#accept(ctx, route);
    } catch (error) {
      leave();
      throw error;
    }
    void this.#converse(ctx, socket, route, run).finally(leave);
  }

  /**
   * Lets the protocols finish what their clients have sent, for up to `graceMs`, and closes all sockets. May be called
   * twice.
   */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  #accept(ctx: Context, { subprotocol }: SocketRoute): OpenSocket {
    const { max_message_bytes: maxMessageBytes, max_duration_s: longestS } = this.#limits;
    const context = {
      ...workContextOf(ctx),
      meter: keepMeter(ctx),
      deadlineAt: performance.now() + longestS * 1000,
    };
    return new OpenSocket(shakeHands(ctx, { subprotocol, maxMessageBytes }), context, this.#limits);
  }

  /** Runs the protocol of a socket to the end of the connection. Never rejects. */
  async #converse(ctx: Context, socket: OpenSocket, route: SocketRoute, run: RunProtocol): Promise<void> {
    this.#open.add(socket);
    const end = this.#options.drain?.begin();
    const startedAt = performance.now();
    const { log, includeStacktrace } = this.#options;
    const { requestId, traceparent } = socket.context;
    const about = { requestId, path: ctx.path, ...traceFields(traceparent) };
    try {
      await run(socket);
      socket.finish();
    } catch (error) {
      const fields = { ...about, ...errorLogFields(error) };
      if (toErrorRecord(error).kind === 'internal')
        log.error('socket failed', { ...fields, stack: loggedStack(error) });
      else log.debug('socket refused', fields);
      socket.fail(error, route.errorMessage(error, showsInside(ctx, includeStacktrace)));
    }
    const code = await socket.closed;
    const { userId, keyId } = callerOf(ctx);
    keepMeter(ctx)?.finish({ source: 'socket', userId, keyId, route: ctx.path, outcome: outcomeOf(code) });
    this.#open.delete(socket);
    end?.();
    log.info('socket closed', { ...about, code, ms: Math.round(performance.now() - startedAt) });
  }

  async #close(graceMs: number): Promise<void> {
    const open = [...this.#open];
    if (open.length === 0) return;
    for (const socket of open) socket.goAway();
    const over = new AbortController();
    const closed = Promise.all(open.map((socket) => socket.closed)).then(() => over.abort());
    await delay(graceMs, over.signal).catch(() => {}); // all are closed
    for (const socket of this.#open) socket.terminate();
    await closed;
  }
}

/** Returns how a socket ended that was closed with this code. */
function outcomeOf(code: number): UsageOutcome {
  if (code === 1000 || code === 1005) return 'ok';
  if (code === 1011 || code === 1012) return 'failed';
  return code === 1001 || code === 1006 ? 'cancelled' : 'refused';
}

function shuttingDown(): AanaError {
  return fail('ShuttingDown', 'the application is shutting down');
}
