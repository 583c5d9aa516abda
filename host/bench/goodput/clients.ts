import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface LoadResult {
  /** The number of first requests; `returned` is the number of second requests, each sent after its `Retry-After`. */
  readonly sent: number;
  readonly returned: number;
  /**
   * The number of requests that were answered with 200 before their deadline. `returnedInTime` counts the second
   * requests among them.
   */
  readonly inTime: number;
  readonly returnedInTime: number;
  /** The number of answers by status; 0 stands for no answer. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly seconds: number;
}

interface Answer {
  readonly status: number;
  readonly retryAfterS: number;
  readonly ms: number;
}

const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });

/** Returns a loopback address for each client, because the server tells clients apart by their address. */
const addressOf = (client: number): string =>
  `127.${1 + (Math.floor(client / 65_025) % 250)}.${1 + (Math.floor(client / 255) % 255)}.${1 + (client % 254)}`;

/**
 * Sends `ratePerS` requests per second for `seconds`, and does not wait for earlier answers. With `returns`, each
 * client that is refused with 503 sends one more request after its `Retry-After`, unless the run ends before.
 */
export async function offer(
  port: number,
  {
    ratePerS,
    seconds,
    deadlineS,
    returns,
  }: { readonly ratePerS: number; readonly seconds: number; readonly deadlineS: number; readonly returns: boolean },
): Promise<LoadResult> {
  const statuses: Record<string, number> = {};
  const counts = { sent: 0, returned: 0, inTime: 0, returnedInTime: 0 };
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  const one = async (n: number): Promise<void> => {
    counts.sent += 1;
    const first = await ask(port, n);
    statuses[first.status] = (statuses[first.status] ?? 0) + 1;
    if (isInTime(first, deadlineS)) counts.inTime += 1;
    if (!returns || first.status !== 503 || performance.now() + first.retryAfterS * 1000 > endsAt) return;
    await sleep(first.retryAfterS * 1000);
    counts.returned += 1;
    const second = await ask(port, n);
    statuses[second.status] = (statuses[second.status] ?? 0) + 1;
    if (!isInTime(second, deadlineS)) return;
    counts.returnedInTime += 1;
    counts.inTime += 1;
  };
  const running: Promise<void>[] = [];
  for (let n = 0; n < ratePerS * seconds; n += 1) {
    const waitMs = startedAt + (n * 1000) / ratePerS - performance.now();
    if (waitMs > 1) await sleep(waitMs);
    running.push(one(n));
  }
  await Promise.all(running);
  return { ...counts, statuses, seconds };
}

/**
 * Measures the saturation: the number of requests per second that the server answers while `inFlight` requests run all
 * the time.
 */
export async function saturation(port: number, inFlight: number, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000;
  let answered = 0;
  let next = 1_000_000;
  const one = async (): Promise<void> => {
    while (performance.now() < until) if ((await ask(port, next++)).status === 200) answered += 1;
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: inFlight }, one));
  return (answered * 1000) / (performance.now() - startedAt);
}

const isInTime = ({ status, ms }: Answer, deadlineS: number): boolean => status === 200 && ms <= deadlineS * 1000;

function ask(port: number, n: number): Promise<Answer> {
  const sentAt = performance.now();
  return new Promise((resolve) => {
    const failed = (): void => resolve({ status: 0, retryAfterS: 0, ms: performance.now() - sentAt });
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        localAddress: addressOf(n),
        path: '/work',
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        agent,
      },
      (res) => {
        res.resume();
        res.on('error', failed);
        res.on('end', () =>
          resolve({
            status: res.statusCode ?? 0,
            retryAfterS: Number(res.headers['retry-after'] ?? 0),
            ms: performance.now() - sentAt,
          }),
        );
      },
    );
    sent.on('error', failed);
    sent.end(`body=${encodeURIComponent(JSON.stringify({ n }))}`);
  });
}
