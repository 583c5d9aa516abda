// Measures the answers per second that arrive within their deadline, at 1, 2, 3 and 5 times the saturation, and prints
// one JSON object. It measures a deployment whose calls all take the same time, and the language model. Each refused
// client returns once, after its `Retry-After`. `npm run bench:goodput -- [--kinds fixed,llm] [--loads 1,2,3,5]
// [--seconds 30] [--no-returns]`
import { parseArgs } from 'node:util';
import { type LoadResult, offer, saturation } from './goodput/clients.ts';
import { startServer } from './plugins/processes.ts';
import { machineLoad, reportHead, round } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    kinds: { type: 'string', default: 'fixed,llm' },
    loads: { type: 'string', default: '1,2,3,5' },
    seconds: { type: 'string', default: '30' },
    'no-returns': { type: 'boolean', default: false },
  },
});

/**
 * `inFlight` is the number of requests that saturates the deployment. The deadline is about ten times the duration of a
 * single call.
 */
const KINDS: Readonly<Record<string, { readonly inFlight: number; readonly deadlineS: number }>> = {
  fixed: { inFlight: 4, deadlineS: 2 },
  llm: { inFlight: 8, deadlineS: 10 },
};

/**
 * The server's deadline as a share of the clients' deadline. The rest is the time of the answer on its way to the
 * client.
 */
const SERVER_SHARE = 0.9;

const seconds = Number(flags.seconds);

async function measure(kind: string): Promise<object> {
  const { inFlight, deadlineS } = KINDS[kind] ?? { inFlight: 4, deadlineS: 2 };
  await using server = await startServer(process.execPath, '../goodput/server', {
    ...process.env,
    BENCH_KIND: kind,
    BENCH_DEADLINE_S: String(SERVER_SHARE * deadlineS),
  });
  await saturation(server.port, 1, 2); // warms up, and lets the server learn the duration of a call
  const most = await saturation(server.port, inFlight, Math.max(10, seconds / 2));
  const loads: object[] = [];
  for (const times of flags.loads.split(',').map(Number)) {
    const result = await offer(server.port, {
      ratePerS: times * most,
      seconds,
      deadlineS,
      returns: !flags['no-returns'],
    });
    loads.push(described(times, most, result));
  }
  return { kind, deadlineS, saturationPerS: round(most, 2), loads };
}

function described(
  times: number,
  most: number,
  { inTime, sent, returned, returnedInTime, statuses, seconds: span }: LoadResult,
): object {
  return {
    times,
    offeredPerS: round(sent / span, 2),
    inTimePerS: round(inTime / span, 2),
    ofSaturation: round(inTime / span / most, 3),
    returned,
    servedOfReturned: returned === 0 ? null : round(returnedInTime / returned, 3),
    statuses,
  };
}

const loadBefore = machineLoad();
const kinds = [];
for (const kind of flags.kinds.split(',')) kinds.push(await measure(kind));
const report = {
  ...reportHead('goodput', loadBefore),
  secondsEach: seconds,
  kinds,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
