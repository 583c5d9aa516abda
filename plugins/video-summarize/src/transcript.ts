import type { AsrOutput } from 'aana-host/plugin';

/** The longest piece, in characters: small beside what a model reads at once. */
const MAX_PIECE = 400;

/** A transcript as pieces to cut it between, whole sentences where they can be found; none when there is no speech. */
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

/** A text without punctuation, cut between words, or anywhere when it has no spaces either. */
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
