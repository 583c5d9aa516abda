import type { AsrOutput } from 'aana-host/plugin';

/** Maximum length of a piece in characters. It is small compared with the text that a model reads at once. */
const MAX_PIECE = 400;

/** Splits a transcript into pieces, which are whole sentences where possible. Returns none if there is no speech. */
export function transcriptPieces(transcript: AsrOutput): string[] {
  const text = transcript.transcription.text || transcript.segments.map((segment) => segment.text).join('');
  return sentences(text).flatMap((sentence) => (sentence.length > MAX_PIECE ? groupWords(sentence) : [sentence]));
}

function sentences(text: string): string[] {
  return text
    .replace(/\s+/g, ' ')
    .split(/(?<=[.!?…]["')\]]?) |(?<=[。！？])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}

/** Splits a text without punctuation between words, or between characters if it has no spaces. */
function groupWords(text: string): string[] {
  const groups: string[] = [];
  let group = '';
  for (const word of text.split(' ').flatMap((one) => one.match(new RegExp(`.{1,${MAX_PIECE}}`, 'gsu')) ?? [])) {
    if (group !== '' && group.length + 1 + word.length > MAX_PIECE) {
      groups.push(group);
      group = '';
    }
    group = group === '' ? word : `${group} ${word}`;
  }
  return group === '' ? groups : [...groups, group];
}
