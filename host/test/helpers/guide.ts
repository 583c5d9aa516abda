// Pages of docs/ whose code is run by a test.
/** A block of code of a page, with the words after its backticks. */
export interface Block {
  readonly section: string;
  /** Line of the page where it begins. */
  readonly line: number;
  readonly language: string;
  readonly about: string;
  readonly text: string;
}

/** The blocks of a page in their order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let section = '';
  let open: { line: number; info: string; text: string[] } | undefined;
  for (const [at, line] of page.split('\n').entries()) {
    if (open && line === '```') {
      const [language = '', ...about] = open.info.split(' ');
      blocks.push({ section, line: open.line, language, about: about.join(' '), text: open.text.join('\n') });
      open = undefined;
    } else if (open) open.text.push(line);
    else if (line.startsWith('```')) open = { line: at + 1, info: line.slice(3), text: [] };
    else if (line.startsWith('## ')) section = line.slice(3);
  }
  return blocks;
}

/** Anchors of the numbered list at the top of a page. */
export function listedSections(page: string): string[] {
  return [...page.matchAll(/^\d+\. \[.*\]\((#.*)\)$/gm)].map((match) => match[1] ?? '');
}

/** Anchors of the sections of a page. */
export function sections(page: string): string[] {
  return [...page.matchAll(/^## (.*)$/gm)].map((match) => `#${(match[1] ?? '').toLowerCase().replaceAll(/[^\w\s-]/g, '').replaceAll(/\s/g, '-')}`);
}
