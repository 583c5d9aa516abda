// A process that sends requests over kept-alive connections. Each connection sends its next request after the answer.
// Started by ../plugins.ts.
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { LoadJob, LoadResult } from './protocol.ts';

const BOUNDARY = 'aana-benchmark-boundary';

function requestOf({ path, body, port, as = 'form' }: LoadJob): Buffer {
  const content =
    as === 'json'
      ? body
      : `--${BOUNDARY}\r\ncontent-disposition: form-data; name="body"\r\n\r\n${body}\r\n--${BOUNDARY}--\r\n`;
  const type = as === 'json' ? 'application/json' : `multipart/form-data; boundary=${BOUNDARY}`;
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(content)}`,
    '',
    '',
  ];
  return Buffer.from(head.join('\r\n') + content);
}

/** Returns where the first answer in `text` ends, or -1 if it is not complete. */
function answerEnd(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return -1;
  const head = text.slice(0, headEnd).toLowerCase();
  const bodyStart = headEnd + 4;
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  if (length !== undefined) return text.length >= bodyStart + Number(length) ? bodyStart + Number(length) : -1;
  for (let at = bodyStart; ;) {
    const lineEnd = text.indexOf('\r\n', at);
    if (lineEnd < 0) return -1;
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    at = lineEnd + 2 + size + 2;
    if (at > text.length) return -1;
    if (size === 0) return at;
  }
}

function work(job: LoadJob): Promise<LoadResult> {
  const request = requestOf(job);
  const latencies: number[] = [];
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const until = startedAt + job.ms;
  let lastAt = startedAt;
  const most = job.requests ?? Number.POSITIVE_INFINITY;
  let sent = 0;
  let failed = 0;
  let failure: string | undefined;

  const one = (): Promise<void> =>
    new Promise((resolve) => {
      const to = { port: job.port, host: '127.0.0.1' };
      const socket: Socket = job.encrypted
        ? connectTls({ ...to, rejectUnauthorized: false })
        : connect({ ...to, noDelay: true });
      let text = '';
      let sentAt = 0;
      const send = (): void => {
        sentAt = performance.now();
        sent += 1;
        socket.write(request);
      };
      const pace = (took: number): void => {
        const pause = (job.everyMs ?? 0) - took;
        if (pause > 0) setTimeout(send, pause);
        else send();
      };
      const fail = (what: string): void => {
        failed++;
        failure ??= what;
      };
      socket.setEncoding('latin1');
      socket.once(job.encrypted ? 'secureConnect' : 'connect', send);
      socket.on('data', (data: string) => {
        text += data;
        const end = answerEnd(text);
        if (end < 0) return;
        const now = performance.now();
        if (!text.startsWith('HTTP/1.1 200')) fail(text.slice(0, 2000));
        text = text.slice(end);
        latencies.push(now - sentAt);
        lastAt = now;
        if (now < until && sent < most && job.once !== true) pace(now - sentAt);
        else socket.destroy();
      });
      socket.on('error', (error) => fail(error.message));
      socket.on('close', () => resolve());
    });

  return Promise.all(Array.from({ length: job.connections }, one)).then(() => {
    latencies.sort((a, b) => a - b);
    const at = (share: number): number => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN;
    const { user, system } = process.cpuUsage(cpuBefore);
    return {
      requests: latencies.length,
      cpuMs: (user + system) / 1000,
      failed,
      ...(failure !== undefined && { failure }),
      seconds: (lastAt - startedAt) / 1000,
      p50: at(0.5),
      p99: at(0.99),
    };
  });
}

process.on('message', (job: LoadJob) => void work(job).then((result) => process.send?.(result)));
process.on('disconnect', () => process.exit());
