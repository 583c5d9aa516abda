import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { concatenatedJson } from '../../base/core/json/concatenated-json.ts';
import { fail } from '../../base/core/errors.ts';
import { packageRoot } from '../../base/core/package-root.ts';

export interface DemoOptions {
  readonly ffmpegPath: string;
  /** Speech for the video. */
  readonly samplePath: string;
  /** Arguments for `aana-host serve` besides the plugins and the port. */
  readonly serveArguments: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly out: NodeJS.WritableStream;
}

/**
 * Starts a server on a free port, makes a short video with speech, sends it to the three endpoints and prints the
 * answers.
 */
export async function demo(options: DemoOptions): Promise<void> {
  const { out } = options;
  const folder = await mkdtemp(join(tmpdir(), 'aana-demo-'));
  const port = await freePort();
  const server = spawn(
    process.execPath,
    [
      join(packageRoot, 'bundle/host/cli/main.js'),
      'serve',
      ...['video-transcribe', 'video-summarize'].map((name) => join(packageRoot, 'plugins', name)),
      '--port',
      String(port),
      '--log-level',
      'warn',
      ...options.serveArguments,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: options.env },
  );
  try {
    const video = join(folder, 'speech.mp4');
    out.write('making a short video with speech\n');
    await makeVideo(options.ffmpegPath, options.samplePath, video);
    out.write(`starting a server on port ${port}\n`);
    const base = `http://127.0.0.1:${port}`;
    await untilReady(server, `${base}/api/ready`);
    const data = new Blob([await readFile(video)]);

    out.write('\nPOST /video/transcribe\n');
    const { transcription } = (await (await post(`${base}/video/transcribe`, data)).json()) as {
      transcription: { text: string };
    };
    out.write(`  ${transcription.text.trim()}\n`);

    out.write('\nPOST /video/summarize\n');
    const { summary } = (await (await post(`${base}/video/summarize`, data)).json()) as { summary: string };
    out.write(`${indent(summary)}\n`);

    out.write('\nPOST /video/summarize_stream\n  ');
    const stream = await post(`${base}/video/summarize_stream`, data);
    for await (const text of streamedTexts(stream)) out.write(text.replaceAll('\n', '\n  '));
    out.write('\n');
  } finally {
    server.kill('SIGTERM');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    await rm(folder, { recursive: true, force: true });
  }
}

const indent = (text: string): string => `  ${text.trim().replaceAll('\n', '\n  ')}`;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (typeof address !== 'object' || !address) throw fail('DemoError', 'no free port was found');
  return address.port;
}

async function makeVideo(ffmpeg: string, speech: string, video: string): Promise<void> {
  const picture = ['-f', 'lavfi', '-i', 'testsrc=size=320x240:rate=10'];
  const child = spawn(
    ffmpeg,
    ['-nostdin', '-v', 'error', ...picture, '-i', speech, '-shortest', '-c:v', 'mpeg4', '-c:a', 'aac', video],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw fail('DemoError', `ffmpeg could not make the video: it exited with code ${code}`);
}

async function untilReady(server: ChildProcess, url: string): Promise<void> {
  for (;;) {
    if (server.exitCode !== null || server.signalCode !== null)
      throw fail('DemoError', 'the server ended before it was ready; its last lines are above');
    const response = await fetch(url).catch(() => undefined);
    if (response?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function post(url: string, video: Blob): Promise<Response> {
  const form = new FormData();
  form.set('body', JSON.stringify({ video: { content: 'video' } }));
  form.set('video', video, 'speech.mp4');
  const response = await fetch(url, { method: 'POST', body: form });
  if (!response.ok) throw fail('DemoError', `${url} answered ${response.status}: ${await response.text()}`);
  return response;
}

async function* streamedTexts(response: Response): AsyncGenerator<string> {
  if (!response.body) return;
  for await (const chunk of concatenatedJson(response.body)) {
    const { text, error, message } = chunk as { text?: string; error?: string; message?: string };
    if (error) throw fail('DemoError', `the stream ended with ${error}: ${message}`);
    yield text ?? '';
  }
}
