// A thread that asks a host for /livez every 20 ms, and tells on demand the longest wait for an answer since it was
// asked before. Started by main.ts.
import { Agent, get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const EVERY_MS = 20;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const waiting = new Set<number>();
let longest = 0;

function ask(): void {
  const start = performance.now();
  waiting.add(start);
  const end = (): void => {
    if (waiting.delete(start)) longest = Math.max(longest, performance.now() - start);
  };
  get({ port: workerData as number, path: '/livez', agent }, (answer) => answer.resume().on('end', end)).on(
    'error',
    end,
  );
}

setInterval(ask, EVERY_MS);
parentPort!.on('message', () => {
  const now = performance.now();
  parentPort!.postMessage(Math.max(longest, ...[...waiting].map((start) => now - start)));
  longest = 0;
});
