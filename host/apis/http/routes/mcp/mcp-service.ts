import type { McpHttpHandler } from '@modelcontextprotocol/server';
import type { Context } from 'koa';
import { clientNetwork } from '../../../../data/access/index.ts';
import { tenantOf } from '../../../../base/core/request-context.ts';
import { cancelledError, fail } from '../../../../base/core/errors.ts';
import { newId } from '../../../../base/core/ids.ts';
import { remembered } from '../../../../base/core/remembered.ts';
import { type Toolbox, toolServer } from '../../../mcp/index.ts';
import { callerOf } from '../../guards/caller.ts';
import { abortOnClose } from '../../request/request-context.ts';
import { callerTools, type MakeToolbox, type McpHttpOptions } from './caller-tools.ts';
import { type Message, readMessage } from './read-message.ts';
import { RunningCalls } from './running-calls.ts';
import { SendWindow } from './send-window.ts';
import { sendWebResponse, webRequest } from './web-exchange.ts';

const SESSION_HEADER = 'mcp-session-id';
const RETRY_IMPORT_MS = 1000;
/** Most subscriptions of a caller, so that one caller cannot take those of all others. */
const MOST_SUBSCRIPTIONS = 32;

/**
 * The Model Context Protocol over HTTP. Each request is served on its own, so any host can serve it. A client of the
 * protocol before 2026 gets a name when it connects; the host remembers it only for running calls.
 */
export class McpService {
  readonly #options: McpHttpOptions;
  readonly #toolsOf: MakeToolbox;
  /** The tools of the requests that are being served. */
  readonly #toolboxes = new WeakMap<Request, Toolbox>();
  readonly #calls = new RunningCalls();
  /** Open streams on which clients wait for changes of the tools, with their callers. */
  readonly #subscriptions = new Map<AbortController, string>();
  readonly #handler: () => Promise<McpHttpHandler>;

  constructor(options: McpHttpOptions) {
    this.#options = options;
    this.#toolsOf = callerTools(options);
    this.#handler = remembered(() => this.#makeHandler(), RETRY_IMPORT_MS);
  }

  /** Answers one message. */
  async serve(ctx: Context): Promise<void> {
    if (!this.#options.isDeployed())
      throw fail('NotReady', 'the application is starting: try again when /api/ready answers 200');
    const gone = abortOnClose(ctx);
    const { head, body } = await readMessage(ctx, this.#options);
    const ending = new AbortController();
    const onGone = (): void => ending.abort(gone.reason);
    gone.addEventListener('abort', onGone, { once: true });
    gone.throwIfAborted();
    if (head.method === 'notifications/cancelled') this.#cancel(ctx, head);
    using _entry = this.#enter(ctx, head, ending);
    const request = webRequest(ctx, ending.signal);
    const window = new SendWindow(ending.signal);
    this.#toolboxes.set(request, this.#toolsOf(ctx, ending.signal, window));
    const response = await (await this.#handler()).fetch(request, { parsedBody: body });
    if (head.method === 'initialize' && response.ok) ctx.set(SESSION_HEADER, newId());
    await sendWebResponse(ctx, response, { signal: ending.signal, onTaken: () => window.taken() });
  }

  /** Ends the streams on which clients wait for changes of the tools. Calls go on. */
  close(): void {
    for (const subscription of this.#subscriptions.keys())
      subscription.abort(cancelledError('the application is shutting down'));
  }

  /** Remembers a message until it is answered, if something else may end it. */
  #enter(ctx: Context, { method, id }: Message['head'], ending: AbortController): Disposable | undefined {
    if (method === 'subscriptions/listen') {
      this.#subscriptions.set(ending, this.#placeOf(ctx));
      return { [Symbol.dispose]: () => this.#subscriptions.delete(ending) };
    }
    const session = ctx.get(SESSION_HEADER);
    if (method !== 'tools/call' || session === '' || id === undefined) return undefined;
    return this.#calls.add({ keyId: callerOf(ctx).keyId, session, id }, ending);
  }

  /** Returns the caller of a subscription. Throws `TooManySubscriptions` if it has as many as it may have. */
  #placeOf(ctx: Context): string {
    const { userId } = callerOf(ctx);
    const caller = tenantOf({ userId, client: clientNetwork(ctx.ip) });
    const open = [...this.#subscriptions.values()].filter((one) => one === caller).length;
    if (open >= MOST_SUBSCRIPTIONS)
      throw fail(
        'TooManySubscriptions',
        `a caller may have ${MOST_SUBSCRIPTIONS} subscriptions to changes of the tools: close one first`,
      );
    return caller;
  }

  #cancel(ctx: Context, { params }: Message['head']): void {
    const id = params?.['requestId'];
    if (typeof id !== 'string' && typeof id !== 'number') return;
    const names = { keyId: callerOf(ctx).keyId, session: ctx.get(SESSION_HEADER), id };
    this.#calls.cancel(names, cancelledError('the client cancelled the call'));
  }

  async #makeHandler(): Promise<McpHttpHandler> {
    const sdk = await import('@modelcontextprotocol/server');
    const { title, version, registry, limits, mcp, log } = this.#options;
    for (const name of mcp.endpoints)
      if (name !== '*' && !registry.get(name)) log.warn('mcp.endpoints names no endpoint', { endpoint: name });
    const handler = sdk.createMcpHandler(
      ({ era, requestInfo }) => {
        const toolbox = requestInfo && this.#toolboxes.get(requestInfo);
        if (!toolbox) throw new TypeError('the request did not come through this service');
        return toolServer(sdk, { title, version, toolbox, tellsChanges: era === 'modern' });
      },
      {
        responseMode: 'sse', // JSON could not be kept alive while the endpoint runs
        keepAliveMs: limits.stream_keep_alive_s * 1000,
        onerror: (error) => log.debug('MCP request refused', { reason: error.message }),
      },
    );
    let isTold = true;
    const tell = (): void => {
      if (!isTold) return;
      isTold = false;
      queueMicrotask(() => {
        isTold = true;
        handler.notify.toolsChanged();
      });
    };
    registry.onChange(tell);
    mcp.deployments.onNames(tell);
    return handler;
  }
}
