import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostError } from 'aana-host/plugin';
import { runEndpoint } from 'aana-host/plugin/testing';
import { countWords } from './count-words.ts';
import { endpoint } from './index.ts';

const says = (text: string): { asr_deployment: { transcribe: () => unknown } } => ({
  asr_deployment: {
    transcribe: () => ({
      segments: [],
      transcription_info: { language: 'en', language_confidence: 1 },
      transcription: { text },
    }),
  },
});

test('counts words with capitals, apostrophes, hyphens and other scripts', () => {
  assert.deepEqual(countWords("Don't ask. Don't-tell! ASK, ask; 42 — Größe 語", 2), {
    words: 8,
    different: 6,
    most_frequent: [
      { word: 'ask', times: 3 },
      { word: '42', times: 1 },
    ],
  });
  assert.deepEqual(countWords(' … ', 5), { words: 0, different: 0, most_frequent: [] });
});

test('counts a text', async () => {
  const { output } = await runEndpoint(endpoint, 'text_word_count', { text: 'one two one' });
  assert.deepEqual(output, {
    words: 3,
    different: 2,
    most_frequent: [
      { word: 'one', times: 2 },
      { word: 'two', times: 1 },
    ],
  });
});

test('counts the spoken words of a video', async () => {
  const { output, calls } = await runEndpoint(
    endpoint,
    'video_word_count',
    { video: { path: '/a.mp4' }, top: 1 },
    { deployments: says(' Ask not, ask.') },
  );
  assert.deepEqual(output, { words: 3, different: 2, most_frequent: [{ word: 'ask', times: 2 }] });
  assert.equal(calls.length, 1);
});

test('refuses a request for too many words', async () => {
  await assert.rejects(
    () => runEndpoint(endpoint, 'text_word_count', { text: 'one', top: 101 }),
    (error) => error instanceof HostError && error.kind === 'invalid-input',
  );
});
