/** A piece of a program's output. */
export interface Piece {
  /** Milliseconds since the start of the program. */
  readonly at: number;
  readonly text: string;
}

const COLUMNS = 100;
const CHARACTER = 8.4;
const LINE = 20;
const MARGIN = 20;
/** Columns by which the continuation of a wrapped line is indented. */
const INDENT = 2;

/** A piece of one line of the terminal. */
interface Cell {
  readonly at: number;
  readonly row: number;
  readonly column: number;
  text: string;
}

/**
 * Returns a picture of a terminal in which each piece appears when the program wrote it. Pauses of more than
 * `longestPauseMs` are shortened to that. Readers who want no motion see the whole output at once.
 */
export function terminalSvg(title: string, pieces: readonly Piece[], longestPauseMs: number): string {
  const cells = layOut(withoutLongPauses(pieces, longestPauseMs));
  const rows = Math.max(...cells.map(({ row }) => row)) + 1;
  const width = COLUMNS * CHARACTER + 2 * MARGIN;
  const height = rows * LINE + 2 * MARGIN;
  const description = pieces.map(({ text }) => text).join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" \
xml:space="preserve" aria-labelledby="title description">
  <title id="title">${escaped(title)}</title>
  <desc id="description">${escaped(description)}</desc>
  <style>
    rect { fill: #111827; }
    text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #e5e7eb; white-space: pre; \
opacity: 0; animation: appear 1ms forwards; }
    .command { fill: #6ee7b7; }
    @keyframes appear { to { opacity: 1; } }
    @media (prefers-reduced-motion: reduce) { text { opacity: 1; animation: none; } }
  </style>
  <rect width="${width}" height="${height}" rx="10"/>
${cells.map(textOf).join('\n')}
</svg>
`;
}

function withoutLongPauses(pieces: readonly Piece[], longestPauseMs: number): Piece[] {
  let cut = 0;
  let last = 0;
  return pieces.map(({ at, text }) => {
    cut += Math.max(0, at - last - longestPauseMs);
    last = at;
    return { at: at - cut, text };
  });
}

/** Divides the pieces at line ends, and wraps long lines between words. */
function layOut(pieces: readonly Piece[]): Cell[] {
  const cells: Cell[] = [];
  let row = 0;
  let column = 0;
  for (const { at, text } of pieces) {
    let cell: Cell | undefined;
    for (const part of text.split(/(\n| +)/).filter((one) => one !== '')) {
      const isTooLong = part !== '\n' && column + part.length > COLUMNS;
      if (part === '\n' || isTooLong) {
        row += 1;
        column = isTooLong ? INDENT : 0;
        cell = undefined;
      }
      if (part === '\n' || (isTooLong && part.trim() === '')) continue;
      if (!cell) cells.push((cell = { at, row, column, text: '' }));
      cell.text += part;
      column += part.length;
    }
  }
  return cells.filter(({ text }) => text.trim() !== '');
}

function textOf({ at, row, column, text }: Cell): string {
  const x = (MARGIN + column * CHARACTER).toFixed(1);
  const y = MARGIN + (row + 0.75) * LINE;
  const kind = text.startsWith('$ ') ? ' class="command"' : '';
  const length = (text.length * CHARACTER).toFixed(1);
  return (
    `  <text x="${x}" y="${y}" textLength="${length}"${kind} style="animation-delay: ` +
    `${at}ms">${escaped(text)}</text>`
  );
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
