import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { LiveResult } from '../../base/schemas/index.ts';
import type { Clip } from '../asr/clips.ts';

/** Audio of one message, in seconds. */
export const MESSAGE_S = 0.1;

type LiveMessage = LiveResult | { readonly type: 'end' } | { readonly type: 'error'; readonly message: string };

/** A live transcription as its client saw it. */
export interface LiveRun {
  readonly text: string;
  /** For each final word, the seconds from its end in the audio to its arrival. */
  readonly delays: readonly number[];
}

/**
 * Sends a clip over a WebSocket as a microphone does: each message when its last sample would have been spoken. Throws
 * the error of the server.
 */
export async function transcribeLive(port: number, clip: Clip): Promise<LiveRun> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/asr/live`);
  await once(socket, 'open');
  const startedAt = performance.now();
  const spoken = (): number => (performance.now() - startedAt) / 1000;
  const delays: number[] = [];
  let text = '';
  let failure: string | undefined;
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as LiveMessage;
    if (message.type === 'error') failure = message.message;
    if (message.type !== 'final') return;
    const now = spoken();
    delays.push(...message.words.map((word) => now - word.time_interval.end));
    text += message.text;
  });
  const closed = once(socket, 'close');
  const bytes = Math.round((MESSAGE_S * clip.samples.length) / clip.seconds / 2) * 2;
  for (let at = 0; at < clip.samples.length && socket.readyState === WebSocket.OPEN; at += bytes) {
    const end = Math.min(1, (at + bytes) / clip.samples.length) * clip.seconds;
    await sleep(Math.max(0, end - spoken()) * 1000);
    socket.send(clip.samples.subarray(at, at + bytes));
  }
  if (socket.readyState === WebSocket.OPEN) socket.send('{"type":"end"}');
  const [code] = await closed;
  if (code !== 1000) throw new Error(`the server closed the WebSocket with ${code}: ${failure}`);
  return { text, delays };
}
