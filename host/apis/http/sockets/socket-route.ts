import type { Context } from 'koa';
import type { RouteDefinition } from '../../openapi/index.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';

/** A text frame, or the bytes of a binary frame. */
export type SocketMessage = string | Buffer;

/** An open WebSocket as its protocol sees it. */
export interface SocketChannel {
  /**
   * The messages of the client, which can be read once. The client is slowed down while they are not read. They end
   * when the server shuts down, and fail with the reason of the signal when the socket closes.
   */
  readonly messages: AsyncIterable<SocketMessage>;
  /** Facts for calls of deployments. The signal aborts when the socket closes or exceeds a limit. */
  readonly context: RequestContext & { readonly signal: AbortSignal };
  /** Sends a value as JSON in a text frame. Resolves when there is room for more; rejects when the signal aborts. */
  send(value: unknown): Promise<void>;
}

/**
 * Runs the protocol of one socket. The server closes the socket when it resolves (1000), or rejects (the code of the
 * error).
 */
export type RunProtocol = (channel: SocketChannel) => Promise<void>;

/** A path that takes WebSockets. */
export interface SocketRoute {
  readonly definition: RouteDefinition;
  /** The subprotocol that the server chooses if the client offers it. */
  readonly subprotocol: string;
  /** Checks a request before its handshake. An error that it throws is the HTTP answer. */
  accept(ctx: Context): RunProtocol;
  /** Returns the message that tells the client an error before the socket closes. */
  errorMessage(thrown: unknown, includeStacktrace: boolean): unknown;
}
