import { request } from 'node:http';
import * as z from 'zod';
import { AanaError, type ErrorKind } from '../core/errors.ts';
import { runningServers } from './addresses.ts';
import { type ControlArgs, type ControlOperation, type ControlValue, operations } from './protocol.ts';

const Reply = z.object({ value: z.optional(z.unknown()), error: z.optional(z.object({ name: z.string(), kind: z.string(), message: z.string(), data: z.unknown() })) });

/** Asks the server of this user that runs. `port` picks one where there are several. Throws `NotRunning` in one sentence when there is none. */
export async function callControl<O extends ControlOperation>(dir: string, operation: O, args: ControlArgs<O>, { port }: { readonly port?: number | undefined } = {}): Promise<ControlValue<O>> {
  const running = await runningServers(dir);
  const [address, ...others] = port === undefined ? running : running.filter(({ url }) => new URL(url).port === String(port));
  if (!address) throw new AanaError('NotRunning', 'unavailable', `no aana-host server of this user runs${port === undefined ? ': start one with "aana-host serve"' : ` on port ${port}`}`);
  if (others.length > 0) throw new AanaError('SeveralRunning', 'conflict', `several servers run (${running.map(({ url }) => url).join(', ')}): name one with --port`);
  const reply = Reply.parse(JSON.parse(await post(address.socket, operation, JSON.stringify(args))));
  if (reply.error) throw new AanaError(reply.error.name, reply.error.kind as ErrorKind, reply.error.message, { data: reply.error.data });
  return operations[operation].value.parse(reply.value) as ControlValue<O>;
}

function post(socketPath: string, operation: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, method: 'POST', path: `/${operation}` }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(text)).on('error', reject);
    });
    outgoing.on('error', (cause) => reject(new AanaError('NotRunning', 'unavailable', `the server does not answer on ${socketPath}: ${cause.message}`, { cause })));
    outgoing.end(body);
  });
}
