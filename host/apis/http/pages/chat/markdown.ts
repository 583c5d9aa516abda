// Shows the usual Markdown of answers as elements. Everything else, such as HTML, stays text.
import { element } from './elements.ts';

const FENCE = /^\s*```/;
const HEADING = /^#{1,6}\s+(.*)$/;
const BULLET = /^\s*[-*+]\s+(.*)$/;
const NUMBER = /^\s*\d{1,9}[.)]\s+(.*)$/;
const INLINE = new RegExp(
  [
    /`(?<code>[^`\n]+)`/,
    /\*\*(?<strong>[^*\n]+)\*\*/,
    /\*(?<em>[^*\s][^*\n]*)\*/,
    /\[(?<label>[^\]\n]+)\]\((?<url>https?:\/\/[^\s)]+)\)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

/** Returns the elements of a text, which may still be growing. */
export function renderMarkdown(text: string): DocumentFragment {
  const lines = text.split('\n');
  const fragment = new DocumentFragment();
  for (let at = 0; at < lines.length;) {
    const [block, count] = blockAt(lines, at);
    if (block) fragment.append(block);
    at += count;
  }
  return fragment;
}

/** Returns the block that begins at a line, and the number of its lines. */
function blockAt(lines: readonly string[], at: number): [block: HTMLElement | undefined, count: number] {
  const line = lines[at] ?? '';
  if (line.trim() === '') return [undefined, 1];
  if (FENCE.test(line)) {
    const end = lines.findIndex((one, n) => n > at && FENCE.test(one));
    const code = lines.slice(at + 1, end < 0 ? undefined : end).join('\n');
    return [element('pre', '', element('code', '', code)), (end < 0 ? lines.length : end + 1) - at];
  }
  const heading = HEADING.exec(line);
  if (heading) return [element('h3', '', ...inline(heading[1] ?? '')), 1];
  for (const [tag, marker] of [['ul', BULLET] as const, ['ol', NUMBER] as const]) {
    const items = taken(lines, at, (one) => marker.test(one));
    if (items.length > 0)
      return [
        element(tag, '', ...items.map((item) => element('li', '', ...inline(marker.exec(item)?.[1] ?? '')))),
        items.length,
      ];
  }
  const paragraph = taken(lines, at, (one) => one.trim() !== '' && !isBlock(one));
  return [
    element('p', '', ...paragraph.flatMap((one, n) => [...(n > 0 ? [element('br')] : []), ...inline(one)])),
    paragraph.length,
  ];
}

const isBlock = (line: string): boolean => [FENCE, HEADING, BULLET, NUMBER].some((marker) => marker.test(line));

function taken(lines: readonly string[], at: number, fits: (line: string) => boolean): string[] {
  const end = lines.findIndex((line, n) => n >= at && !fits(line));
  return lines.slice(at, end < 0 ? undefined : end);
}

function inline(text: string): (Node | string)[] {
  const nodes: (Node | string)[] = [];
  let end = 0;
  for (const { 0: whole, index, groups = {} } of text.matchAll(INLINE)) {
    nodes.push(text.slice(end, index), inlineElement(groups));
    end = index + whole.length;
  }
  return [...nodes, text.slice(end)];
}

function inlineElement({ code, strong, em, label, url }: Readonly<Record<string, string | undefined>>): HTMLElement {
  if (code !== undefined) return element('code', '', code);
  if (strong !== undefined) return element('strong', '', strong);
  if (em !== undefined) return element('em', '', em);
  const link = element('a', '', label ?? '');
  link.href = url ?? '';
  link.rel = 'noopener noreferrer';
  link.target = '_blank';
  return link;
}
