import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Random } from '../../simulation/random.ts';

/** The content of a webhook's delivery. The same delivery may be received again. */
export interface Received {
  readonly event: string;
  readonly task: string;
  readonly status: string;
  readonly result: unknown;
  times: number;
}

/** Receives deliveries of webhooks. Sometimes it fails, or closes the connection after it received a delivery. */
export class Receiver implements AsyncDisposable {
  /** Deliveries by id. */
  readonly received = new Map<string, Received>();
  readonly #random: Random;
  readonly #server: Server;
  #isReliable = false;

  constructor(random: Random) {
    this.#random = random;
    this.#server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += chunk;
      if (!this.#isReliable && this.#random.chance(0.05)) return void response.writeHead(500).end();
      this.#take(String(request.headers['webhook-id']), text);
      if (!this.#isReliable && this.#random.chance(0.05)) return void response.destroy();
      response.writeHead(204).end();
    });
  }

  /** Starts to listen. Returns its URL. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  /** Stops failing. */
  settle(): void {
    this.#isReliable = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #take(id: string, text: string): void {
    const { event, payload } = JSON.parse(text) as {
      event: string;
      payload: { task_id: string; status: string; result: unknown };
    };
    const known = this.received.get(id);
    if (known) known.times += 1;
    else
      this.received.set(id, { event, task: payload.task_id, status: payload.status, result: payload.result, times: 1 });
  }
}
