import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { ClusterSettings } from '../../../base/certificates/index.ts';
import { AanaError, fail } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { findDefinition } from '../../../base/core/error-table.ts';
import { connectWithTls } from '../../../inference/rpc/index.ts';
import type { OperatorAnswer, OperatorRequest, OperatorRoute } from '../../http/index.ts';
import { type Choice, chooseServer } from '../addresses.ts';
import { lostError, notAnswering } from './lost.ts';
import { type MemberAddress, memberAddress } from './member-address.ts';

/** The part of a request that does not depend on the route. */
interface AnyRequest {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
}

export interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether the process keeps running until the answer ends. Default: true. */
  readonly holdsProcess?: boolean | undefined;
}

/** The longest wait for the first answer of a server. A stopped server (SIGSTOP) still accepts connections. */
const GREETING_MS = 10_000;

/** An application of this user, whose address file is in a folder. */
export interface LocalApplication extends Choice {
  readonly runtimeDir: string;
}

/** An application anywhere, over HTTP or HTTPS. */
export interface RemoteApplication {
  /**
   * The address of its server, without credentials and without a slash at the end. It may have a path, below which a
   * proxy has the server.
   */
  readonly url: string;
  /** The API key of an admin. */
  readonly apiKey: string | undefined;
}

/** An application on another machine of the cluster. */
export interface ClusterApplication {
  /** Its `cluster.listen`, such as `10.0.0.5:8700`. */
  readonly url: string;
  /** As which member this process connects. */
  readonly cluster: ClusterSettings;
}

export type OperatedServer = LocalApplication | RemoteApplication | ClusterApplication;

/** Where requests go: to a Unix socket, to a machine of the cluster, or to the URL. */
type OperatorAddress = { readonly url: string; readonly socket: string } | MemberAddress | RemoteApplication;

/**
 * The API for operators of an application: HTTP over the control socket, or over its server with the API key of an
 * admin. Each method throws the errors of the application, and `ConnectionLost` if the application has ended.
 */
export class OperatorClient {
  readonly address: OperatorAddress;
  readonly #end = new AbortController();

  private constructor(address: OperatorAddress) {
    this.address = address;
  }

  /**
   * Throws like {@link chooseServer}, and `NotRunning` if the server does not answer. No error has the key in its text.
   */
  static async open(server: OperatedServer): Promise<OperatorClient> {
    if ('cluster' in server) return OperatorClient.at(await memberAddress(server.url, server.cluster, silentLogger));
    return OperatorClient.at('url' in server ? server : await chooseServer(server.runtimeDir, server));
  }

  /** Throws `NotRunning` if the server does not answer. */
  static async at(address: OperatorAddress): Promise<OperatorClient> {
    const client = new OperatorClient(address);
    const signal = AbortSignal.timeout(GREETING_MS);
    const explain = (error: Error): AanaError =>
      notAnswering(address, signal.aborted ? `not within ${GREETING_MS / 1000} s` : error);
    const answer = await client.#fetch('get /version', {}, { signal }, explain);
    const { version } = await client.#objectOf(answer);
    if (typeof version !== 'string') throw client.#foreign(answer);
    return client;
  }

  /** Ends all requests. May be called twice. */
  close(): void {
    this.#end.abort(fail('ConnectionClosed', `the connection to ${this.address.url} was closed by this process`));
  }

  /** Sends a request, and returns the value of its answer. */
  async ask<Route extends OperatorRoute>(
    route: Route,
    given: OperatorRequest<Route>,
    options: SendOptions = {},
  ): Promise<OperatorAnswer<Route>> {
    return (await this.#objectOf(await this.#send(route, given, options))) as OperatorAnswer<Route>;
  }

  /** Sends a request, and yields the values of the events of its answer. Leaving the loop ends the answer. */
  async *events<Route extends OperatorRoute>(
    route: Route,
    given: OperatorRequest<Route>,
    options: SendOptions = {},
  ): AsyncGenerator<OperatorAnswer<Route>, void, undefined> {
    let rest = '';
    for await (const part of this.parts(route, given, options)) {
      const events = (rest + part).split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (data !== undefined) yield JSON.parse(data) as OperatorAnswer<Route>;
      }
    }
  }

  /** Sends a request, and yields the parts of the text of its answer. */
  async *parts<Route extends OperatorRoute>(
    route: Route,
    given: OperatorRequest<Route>,
    options: SendOptions = {},
  ): AsyncGenerator<string, void, undefined> {
    const answer = await this.#send(route, given, options);
    try {
      for await (const part of answer.setEncoding('utf8')) yield part as string;
    } catch (error) {
      throw this.#explain(error as Error, options.signal);
    } finally {
      answer.destroy();
    }
  }

  #send(route: OperatorRoute, given: AnyRequest, options: SendOptions): Promise<IncomingMessage> {
    return this.#fetch(route, given, options, (error) => this.#explain(error, options.signal));
  }

  #explain(cause: Error, signal: AbortSignal | undefined): unknown {
    const ended = [this.#end.signal, signal].find((one) => one?.aborted);
    return ended ? ended.reason : lostError(this.address, cause);
  }

  /** Resolves to the answer of a success. */
  async #fetch(
    route: OperatorRoute,
    { params = {}, query, body }: AnyRequest,
    { signal, holdsProcess = true }: SendOptions,
    explain: (error: Error) => unknown,
  ): Promise<IncomingMessage> {
    const [method = '', template = ''] = route.split(' ');
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const sent = this.#request(`${path}${queryText(query)}`, {
      method: method.toUpperCase(),
      signal: signal ? AbortSignal.any([signal, this.#end.signal]) : this.#end.signal,
      ...(body !== undefined && { headers: { 'content-type': 'application/json' } }),
    });
    if (!holdsProcess) sent.once('socket', (socket) => socket.unref());
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    sent.on('error', () => {}); // `answered` and the reader of the answer tell it
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = await answered.catch((error: Error) => {
      throw explain(error);
    });
    if (answer.statusCode === 200 || answer.statusCode === 201) return answer;
    throw await this.#errorOf(route, answer);
  }

  /** Follows no redirect, so that the key reaches the server of the URL alone. */
  #request(path: string, { headers, ...options }: RequestOptions): ClientRequest {
    const { address } = this;
    if ('socket' in address)
      return httpRequest({
        ...{ ...options, socketPath: address.socket, agent: false, path },
        headers: { ...headers, host: 'aana-host' },
      });
    if ('membership' in address)
      return httpRequest({
        ...{ ...options, path, createConnection: () => connectWithTls(address.tcp, address.membership) },
        headers: { ...headers, host: 'aana-host' },
      });
    const { url, apiKey } = address;
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    return send(`${url}${path}`, {
      ...{ ...options, agent: false },
      headers: { ...headers, ...(apiKey !== undefined && { 'x-api-key': apiKey }) },
    });
  }

  async #objectOf(answer: IncomingMessage): Promise<Record<string, unknown>> {
    const text = await this.#textOf(answer);
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
    } catch {} // not JSON
    throw this.#foreign(answer);
  }

  #foreign({ statusCode }: IncomingMessage): AanaError {
    return notAnswering(this.address, `its answer with status ${statusCode} is not one of aana-host`);
  }

  async #textOf(answer: IncomingMessage): Promise<string> {
    return text(answer).catch((error: Error) => {
      throw lostError(this.address, error);
    });
  }

  async #errorOf(route: OperatorRoute, answer: IncomingMessage): Promise<AanaError> {
    const { error, message, data, stacktrace } = await this.#objectOf(answer);
    if (typeof error !== 'string' || typeof message !== 'string') return this.#foreign(answer);
    if (error === 'NotFound' || error === 'MethodNotAllowed')
      return fail(
        'OtherVersion',
        `the application at ${this.address.url} has no ${route}: it has another version, or that part of it is off` +
          ('apiKey' in this.address ? '; routes for admins need api_service.enabled there' : ''),
      );
    const kind = findDefinition(error)?.kind ?? 'internal';
    const made = new AanaError(error, kind, await messageOf(message, data), { data });
    if (typeof stacktrace === 'string') made.stack = stacktrace;
    return made;
  }
}

/** Sends one request to an application. Throws like {@link OperatorClient.open}. */
export async function askOperator<Route extends OperatorRoute>(
  server: OperatedServer,
  route: Route,
  given: OperatorRequest<Route>,
): Promise<OperatorAnswer<Route>> {
  return (await OperatorClient.open(server)).ask(route, given);
}

function queryText(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`;
}

const NOUNS = { tasks: 'task', webhooks: 'webhook', webhook_deliveries: 'delivery', api_key: 'api_key' } as const;

/** Returns the message of an error, with the id that names nothing, or the entries of a failed check. */
async function messageOf(message: string, data: unknown): Promise<string> {
  const { table, id } = (data ?? {}) as { readonly table?: keyof typeof NOUNS; readonly id?: unknown };
  if (table !== undefined) return `there is no ${NOUNS[table]} ${JSON.stringify(id)}`;
  if (!Array.isArray(data)) return message;
  const { validationMessage } = await import('../../../base/schemas/index.ts');
  return validationMessage(data as Parameters<typeof validationMessage>[0]);
}
