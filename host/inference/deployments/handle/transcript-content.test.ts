// Transcripts of calls, as their spans have them.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TranscriptContent } from './transcript-content.ts';

const Transcript = suite('TranscriptContent');

/** Returns the transcript of values that came in batches. */
function transcriptOf(...batches: readonly unknown[][]): unknown {
  const content = new TranscriptContent();
  for (const batch of batches) content.add(batch);
  return content.attributes()['aana.transcript'];
}

const output = (text: string): object => ({ segments: [], transcription_info: {}, transcription: { text } });

Transcript('has the text of each kind of result', () => {
  assert.is(transcriptOf([output(' And so')]), ' And so');
  assert.is(transcriptOf([output(' And')], [output(' so,'), output(' my')]), ' And so, my');
  assert.is(transcriptOf([{ transcription: [{ text: 'one' }, { text: 'two' }] }]), 'one\ntwo');
});

Transcript('has the final results of live transcription, and no turns', () => {
  const values = [
    { type: 'speech_started', at: 0 },
    { type: 'partial', text: ' An' },
    { type: 'final', text: ' And so' },
    { type: 'partial', text: ' my' },
    { type: 'final', text: ' my fellow' },
    { type: 'speech_stopped', at: 2 },
  ];
  assert.is(transcriptOf(values), ' And so my fellow');
});

Transcript('is absent without speech', () => {
  for (const values of [[], [output('')], [undefined], [{}], [{ transcription: [] }]])
    assert.is(transcriptOf(values), undefined);
});

Transcript('is cut after 32768 characters', () => {
  const text = String(transcriptOf([output('a'.repeat(32_000))], [output('b'.repeat(1000))], [output('c')]));
  assert.is(text, `${'a'.repeat(32_000)}${'b'.repeat(768)}…`);
  assert.is(transcriptOf([output('a'.repeat(32_768))]), 'a'.repeat(32_768));
});

Transcript.run();
