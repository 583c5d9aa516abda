// Transcribes and summarises a video file with a running aana-host. It uses the client that was generated from that
// server.
//   npm start -- talk.mp4 [http://127.0.0.1:8000]
import { ApiError, Client, openFile } from './aana-client.ts';

const [path, baseUrl] = process.argv.slice(2);
if (path === undefined) {
  process.stderr.write('usage: npm start -- VIDEO [URL of the server]\n');
  process.exit(2);
}

const client = new Client({ baseUrl });
// Ctrl-C aborts the request, which also ends the server's work.
const stopping = new AbortController();
process.once('SIGINT', () => stopping.abort(new Error('interrupted')));
const { signal } = stopping;

try {
  const video = { content: await openFile(path) };
  const { transcription } = await client.transcribeVideo({ video }, { signal });
  process.stdout.write(`${transcription.text.trim()}\n\n`);
  for await (const { text } of client.summarizeVideoStream({ video }, { signal })) process.stdout.write(text);
  process.stdout.write('\n');
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  process.stderr.write(`${error.error} (${error.status}): ${error.message}\n`);
  for (const { loc, msg } of error.validation) process.stderr.write(`  ${loc.join('.')}: ${msg}\n`);
  process.exitCode = 1;
}
