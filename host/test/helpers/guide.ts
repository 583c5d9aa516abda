import { anchorOf } from './markdown-links.ts';

/** A code block of a page. */
export interface Block {
  readonly section: string;
  /** Line of the page at which it begins. */
  readonly line: number;
  readonly language: string;
  /** The text after the language: a file name, or the kind of the block. */
  readonly about: string;
  readonly text: string;
}

/** Returns the code blocks of a page in Markdown, in order. */
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

/** Returns the links of a page's numbered list of contents, and the links that its sections should have there. */
export function contentsOf(page: string): { readonly listed: readonly string[]; readonly sections: readonly string[] } {
  return {
    listed: [...page.matchAll(/^\d+\. \[.*\]\((#.*)\)$/gm)].map(([, link = '']) => link),
    sections: [...page.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => `#${anchorOf(heading)}`),
  };
}
