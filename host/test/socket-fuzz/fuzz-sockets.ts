import { TRANSPORTS } from '../../apis/http/fixtures/raw-server.ts';
import { eventually } from '../../apis/http/fixtures/eventually.ts';
import { Random } from '../simulation/random.ts';
import { fuzzServer } from './fuzz-server.ts';
import { makeSequence } from './make-sequence.ts';
import { runSequence } from './run-sequence.ts';

/** Connections that are open at once. */
const AT_ONCE = 24;
/** The listeners that a connection may have, of Node, of the server and of one pending answer. */
export const MOST_LISTENERS = 24;

export interface SocketFuzzOptions {
  readonly sequences: number;
  /** Seed of the first sequence. Each further one has the next number. */
  readonly seed: number;
  onProgress?(done: number): void;
}

export interface SocketFuzzReport {
  readonly complaints: readonly string[];
  readonly mostListeners: number;
}

/**
 * Sends random sequences to a server on each transport, and returns what was wrong. An error in a listener ends the
 * process.
 */
export async function fuzzSockets({ sequences, seed, onProgress }: SocketFuzzOptions): Promise<SocketFuzzReport> {
  const servers = await Promise.all(TRANSPORTS.map(fuzzServer));
  const complaints: string[] = [];
  let [next, done] = [seed, 0];
  const run = async (): Promise<void> => {
    while (next < seed + sequences) {
      const at = next++;
      const random = new Random(at);
      // few are encrypted, because that takes most of the time
      const server = servers[random.chance(0.03) ? servers.length - 2 : random.pick([0, servers.length - 1])]!;
      const sequence = makeSequence(random, at * 10);
      const wrong = await runSequence(server.open(), sequence);
      if (wrong.length > 0)
        complaints.push(
          `seed ${at} (${sequence.items.map(({ what }) => what).join(', ')}; ${sequence.ending}):\n  ` +
            `${wrong.join('\n  ')}`,
        );
      done += 1;
      onProgress?.(done);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  await eventually(
    () => servers.every((server) => server.running() === 0),
    'no request runs after its client has left',
  );
  complaints.push(...servers.flatMap(({ errors }) => errors));
  const mostListeners = Math.max(...servers.map((server) => server.mostListeners()));
  if (mostListeners > MOST_LISTENERS) complaints.push(`a connection had ${mostListeners} listeners`);
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  return { complaints, mostListeners };
}
