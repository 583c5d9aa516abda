// Measures what the largest requests do to a host, and prints one JSON object: for each one the longest time in which
// /livez had no answer, the CPU time of the host's main thread, and the peak of its resident memory. It sends to each
// route, to the realtime socket and in batches what costs most to check (Linux). On a quiet machine /livez is answered
// within 250 ms, and the peak is at most 8 times the bytes of the request plus 64 MiB. `npm run bench:large-requests --
// [--only TEXT] [--repeat N]`
import { readFile, writeFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import { delay } from '../../base/core/abort.ts';
import { cpuOfThreads } from '../attacks/threads.ts';
import { batchAttacks, httpAttacks, imageAttacks, type LargeRequest, socketAttacks } from './attacks.ts';
import { startServer, type Subject } from '../plugins/processes.ts';
import { machineLoad, reportHead, round } from '../report.ts';

const { values: flags } = parseArgs({
  options: { only: { type: 'string', default: '' }, repeat: { type: 'string', default: '1' } },
});
const MOST_SILENT_MS = 250;
const MOST_MEMORY_FACTOR = 8;
const MOST_MEMORY_BYTES = 64 * 1024 * 1024;
/** Time before a request without load, and after its answer for work that it left behind. */
const SETTLE_MS = 300;
const REALTIME = '/v1/realtime?intent=transcription';

/** Sends a request and returns what the host answered in a few words. */
type Send = (port: number, request: LargeRequest) => Promise<string>;

const sendHttp: Send = async (port, { to, body }) => {
  const [method = '', path = ''] = to.split(' ');
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body });
  return `${answer.status} ${(await answer.text()).slice(0, 150)}`;
};

const sendSocket: Send = async (port, { body }) => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${REALTIME}`);
  await once(socket, 'message');
  const answered = once(socket, 'message');
  socket.send(body);
  const [message] = (await answered) as [Buffer];
  socket.terminate();
  return message.toString().slice(0, 150);
};

const sendBatch: Send = async (port, { body }) => {
  const api = `http://127.0.0.1:${port}/v1`;
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([body]), 'batch.jsonl');
  const { id: input_file_id } = (await (await fetch(`${api}/files`, { method: 'POST', body: form })).json()) as {
    id: string;
  };
  const batch = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  const headers = { 'content-type': 'application/json' };
  const made = await fetch(`${api}/batches`, { method: 'POST', headers, body: JSON.stringify(batch) });
  const { id } = (await made.json()) as { id: string };
  for (;;) {
    const now = (await (await fetch(`${api}/batches/${id}`)).json()) as { status: string; errors: unknown };
    if (!['validating', 'in_progress', 'finalizing'].includes(now.status))
      return `${now.status} ${JSON.stringify(now.errors)}`.slice(0, 150);
    await delay(50);
  }
};

async function residentBytes(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
}

async function measure(subject: Subject, probe: Worker, request: LargeRequest, send: Send): Promise<object> {
  const { pid, port } = subject;
  const silence = async (): Promise<number> => {
    probe.postMessage(null);
    return ((await once(probe, 'message')) as [number])[0];
  };
  const mainThread = async (): Promise<number> => (await cpuOfThreads(pid)).get(pid) ?? Number.NaN;
  await silence();
  await delay(SETTLE_MS);
  const quietMs = await silence();
  await writeFile(`/proc/${pid}/clear_refs`, '5'); // the peak begins again
  const base = await residentBytes(pid, 'VmRSS');
  const before = await mainThread();
  const answer = await send(port, request);
  await delay(SETTLE_MS);
  const cpuMs = (await mainThread()) - before;
  const silentMs = await silence();
  const peak = (await residentBytes(pid, 'VmHWM')) - base;
  const bytes = Buffer.byteLength(request.body);
  return {
    to: request.to,
    what: request.what,
    bytes,
    answer,
    silentMs: round(silentMs, 0),
    quietMs: round(quietMs, 0),
    mainThreadMs: round(cpuMs, 0),
    peakMb: round(peak / 2 ** 20, 0),
    isWithin: silentMs <= MOST_SILENT_MS && peak <= MOST_MEMORY_FACTOR * bytes + MOST_MEMORY_BYTES,
  };
}

const ATTACKS: readonly (readonly [attacks: () => Iterable<LargeRequest>, send: Send])[] = [
  [imageAttacks, sendHttp],
  [socketAttacks, sendSocket],
  [batchAttacks, sendBatch],
  [httpAttacks, sendHttp],
];

const loadBefore = machineLoad();
await using subject = await startServer(process.execPath, '../large-requests/server', process.env);
const probe = new Worker(new URL('probe.js', import.meta.url), { workerData: subject.port });
const results: object[] = [];
for (const [attacks, send] of ATTACKS)
  for (const request of attacks())
    if (`${request.to} ${request.what}`.includes(flags.only))
      for (let n = 0; n < Number(flags.repeat); n++) results.push(await measure(subject, probe, request, send));
await probe.terminate();
process.stdout.write(`${JSON.stringify({ ...reportHead('large requests', loadBefore), results }, null, 2)}\n`);
