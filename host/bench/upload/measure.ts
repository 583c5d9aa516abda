import { readFile, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Subject } from '../plugins/processes.ts';

export interface UploadMeasured {
  readonly mib: number;
  /** Resident memory of the server's process in MiB: before, maximum, and after. */
  readonly rssMib: { readonly before: number; readonly peak: number; readonly after: number };
  readonly mibPerSecond: number;
  /** CPU time of the server for each GiB. */
  readonly cpuSecondsPerGib: number;
}

const MIB = 1024 * 1024;
const BOUNDARY = 'a-boundary-of-some-length';
const HEAD =
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="clip"; filename="clip.mp4"\r\ncontent-type: ` +
  `video/mp4\r\n\r\n`;
const TAIL = [
  '',
  `--${BOUNDARY}`,
  'content-disposition: form-data; name="body"',
  '',
  '{"file":"clip"}',
  `--${BOUNDARY}--`,
  '',
].join('\r\n');
/** Bytes that the parser of forms has to examine: none of them begins a boundary, but many equal its first byte. */
const PIECE = Buffer.from(Array.from({ length: 64 * 1024 }, (_, i) => (i * 31 + (i >> 8)) % 256));

/** Uploads one file of `mib` MiB to a server of this folder and measures its memory (Linux). */
export async function measureUpload({ port, pid, usage }: Subject, mib: number): Promise<UploadMeasured> {
  const before = await memoryOf(pid, { restart: true });
  const { cpuMicroseconds } = await usage();
  const startedAt = performance.now();
  const answer = String(await upload(port, '/upload', mib));
  const seconds = (performance.now() - startedAt) / 1000;
  if (answer !== JSON.stringify({ bytes: mib * MIB })) throw new Error(`the upload was answered with ${answer}`);
  const cpuSeconds = ((await usage()).cpuMicroseconds - cpuMicroseconds) / 1e6;
  const { rss, peak } = await memoryOf(pid);
  return {
    mib,
    rssMib: { before: before.rss, peak, after: rss },
    mibPerSecond: Math.round(mib / seconds),
    cpuSecondsPerGib: Number(((cpuSeconds / mib) * 1024).toFixed(2)),
  };
}

/** Returns the answer to a request with one file of `mib` MiB. Throws if its status is not 200. */
export async function upload(port: number, path: string, mib: number): Promise<Buffer> {
  const length = HEAD.length + mib * MIB + TAIL.length;
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, 'content-length': length };
  const sent = request({ port, host: '127.0.0.1', method: 'POST', path, headers });
  const answered = new Promise<IncomingMessage>((resolve, reject) => sent.on('error', reject).on('response', resolve));
  await pipeline(Readable.from(pieces(mib), { objectMode: false, highWaterMark: 256 * 1024 }), sent);
  const response = await answered;
  const answer = Buffer.concat(await response.toArray());
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${answer.subarray(0, 2000)}`);
  return answer;
}

function* pieces(mib: number): Generator<Buffer> {
  yield Buffer.from(HEAD);
  for (let sent = 0; sent < mib * MIB; sent += PIECE.length) yield PIECE;
  yield Buffer.from(TAIL);
}

/** Returns the memory of a process in MiB, now and at most since the last call with `restart`. */
async function memoryOf(pid: number, { restart = false } = {}): Promise<{ rss: number; peak: number }> {
  if (restart) await writeFile(`/proc/${pid}/clear_refs`, '5');
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const mib = (key: string): number =>
    Math.round(Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024);
  return { rss: mib('VmRSS'), peak: mib('VmHWM') };
}
