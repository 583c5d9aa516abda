import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { AanaError, fail } from '../../../base/core/errors.ts';
import { findDefinition } from '../../../base/core/error-table.ts';
import type { OperatorAnswer, OperatorRequest, OperatorRoute } from '../../http/index.ts';
import { type Choice, chooseServer } from '../addresses.ts';
import type { Address } from '../protocol.ts';
import { lostError, notAnswering } from './lost.ts';

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

/**
 * The API for operators of this user's running application: HTTP over the control socket. Each method throws the errors
 * of the application, and `ConnectionLost` if the application has ended.
 */
export class OperatorClient {
  readonly address: Address;
  readonly #end = new AbortController();

  private constructor(address: Address) {
    this.address = address;
  }

  /** Throws like {@link chooseServer}, and `NotRunning` if the server does not answer. */
  static async open(dir: string, choice: Choice = {}): Promise<OperatorClient> {
    return OperatorClient.at(await chooseServer(dir, choice));
  }

  /** Throws `NotRunning` if the server does not answer. */
  static async at(address: Address): Promise<OperatorClient> {
    const client = new OperatorClient(address);
    const signal = AbortSignal.timeout(GREETING_MS);
    const explain = (error: Error): AanaError =>
      notAnswering(address, signal.aborted ? `not within ${GREETING_MS / 1000} s` : error);
    const answer = await client.#fetch('get /version', {}, { signal }, explain);
    await client.#valueOf(answer);
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
    return (await this.#valueOf(await this.#send(route, given, options))) as OperatorAnswer<Route>;
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
    const sent = request({
      ...{ socketPath: this.address.socket, agent: false },
      signal: signal ? AbortSignal.any([signal, this.#end.signal]) : this.#end.signal,
      ...{ method: method.toUpperCase(), path: `${path}${queryText(query)}` },
      headers: { host: 'aana-host', ...(body !== undefined && { 'content-type': 'application/json' }) },
    });
    if (!holdsProcess) sent.once('socket', (socket) => socket.unref());
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    sent.on('error', () => {}); // `answered` and the reader of the answer tell it
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = await answered.catch((error: Error) => {
      throw explain(error);
    });
    if (answer.statusCode === 200) return answer;
    throw await this.#errorOf(route, answer);
  }

  async #valueOf(answer: IncomingMessage): Promise<unknown> {
    return JSON.parse(await this.#textOf(answer));
  }

  async #textOf(answer: IncomingMessage): Promise<string> {
    return text(answer).catch((error: Error) => {
      throw lostError(this.address, error);
    });
  }

  async #errorOf(route: OperatorRoute, answer: IncomingMessage): Promise<AanaError> {
    const { error, message, data, stacktrace } = JSON.parse(await this.#textOf(answer)) as Record<string, unknown>;
    if (error === 'NotFound' || error === 'MethodNotAllowed')
      return fail('OtherVersion', `the application at ${this.address.url} has another version: it has no ${route}`);
    const kind = findDefinition(String(error))?.kind ?? 'internal';
    const made = new AanaError(String(error), kind, await messageOf(String(message), data), { data });
    if (typeof stacktrace === 'string') made.stack = stacktrace;
    return made;
  }
}

/** Sends one request to this user's running application. Throws like {@link OperatorClient.open}. */
export async function askOperator<Route extends OperatorRoute>(
  { runtimeDir, ...choice }: Choice & { readonly runtimeDir: string },
  route: Route,
  given: OperatorRequest<Route>,
): Promise<OperatorAnswer<Route>> {
  return (await OperatorClient.open(runtimeDir, choice)).ask(route, given);
}

function queryText(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`;
}

const NOUNS = { tasks: 'task', webhooks: 'webhook', webhook_deliveries: 'delivery' } as const;

/** Returns the message of an error, with the id that names nothing, or the entries of a failed check. */
async function messageOf(message: string, data: unknown): Promise<string> {
  const { table, id } = (data ?? {}) as { readonly table?: keyof typeof NOUNS; readonly id?: unknown };
  if (table !== undefined) return `there is no ${NOUNS[table]} ${JSON.stringify(id)}`;
  if (!Array.isArray(data)) return message;
  const { validationMessage } = await import('../../../base/schemas/index.ts');
  return validationMessage(data as Parameters<typeof validationMessage>[0]);
}
