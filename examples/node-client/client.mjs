#!/usr/bin/env node
// Transcribes and summarises a video file with a running aana-host, in plain Node without dependencies.
//   node client.mjs talk.mp4 [http://127.0.0.1:8000]
import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';

const [file, base = 'http://127.0.0.1:8000'] = process.argv.slice(2);
if (!file) {
  process.stderr.write('usage: node client.mjs VIDEO [URL of the server]\n');
  process.exit(2);
}

/** The file travels as a part named `video`; `content` in the body refers to it. */
async function request() {
  const form = new FormData();
  form.set('body', JSON.stringify({ video: { content: 'video' } }));
  form.set('video', await openAsBlob(file), basename(file));
  return form;
}

async function post(path) {
  const response = await fetch(base + path, { method: 'POST', body: await request() });
  if (response.ok) return response;
  const { error, message, data } = await response.json();
  throw new Error(`${path}: ${response.status} ${error}: ${message} ${JSON.stringify(data)}`);
}

/** A stream is JSON objects one after the other, without separators; this finds where each ends. */
async function* jsonObjects(body) {
  const decoder = new TextDecoder();
  let text = '';
  let at = 0;
  let depth = 0;
  let inString = false;
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (; at < text.length; at++) {
      const char = text[at];
      if (inString) {
        if (char === '\\') at++;
        else if (char === '"') inString = false;
      } else if (char === '"') inString = true;
      else if (char === '{') depth++;
      else if (char === '}' && --depth === 0) {
        yield JSON.parse(text.slice(0, at + 1));
        text = text.slice(at + 1);
        at = -1;
      }
    }
  }
}

const { transcription } = await (await post('/video/transcribe')).json();
process.stdout.write(`${transcription.text.trim()}\n\n`);
for await (const chunk of jsonObjects((await post('/video/summarize_stream')).body)) {
  if (chunk.error) throw new Error(`${chunk.error}: ${chunk.message}`);
  process.stdout.write(chunk.text);
}
process.stdout.write('\n');
