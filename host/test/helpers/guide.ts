/** A block of code of a page. */
export interface Block {
  readonly section: string;
  /** Line of the page where it begins. */
  readonly line: number;
  readonly language: string;
  /** What follows the language: a file, or what the block is. */
  readonly about: string;
  readonly text: string;
}

/** The blocks of code of a page in Markdown, from its top. */
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
