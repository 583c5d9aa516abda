// Reads links between Markdown pages like GitHub does.

/** Returns the anchor that GitHub gives a heading, if no earlier heading of the page has the same anchor. */
export function anchorOf(heading: string): string {
  const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns the text without code blocks. */
function prose(markdown: string): string {
  return markdown.replace(/^( *)(`{3,})[^\n]*\n[\s\S]*?\n\1\2 *$/gm, '');
}

/** Returns the anchors of all headings. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of prose(markdown).matchAll(/^#{1,6} +(.*)$/gm)) {
    const anchor = anchorOf(heading);
    let unique = anchor;
    for (let n = 1; anchors.has(unique); n += 1) unique = `${anchor}-${n}`;
    anchors.add(unique);
  }
  return anchors;
}

export interface Link {
  /** Relative to the page. Empty for the page itself. */
  readonly path: string;
  /** Empty if the link leads to the whole file. */
  readonly anchor: string;
}

/** Returns the links to files and headings of the repository. */
export function linksOf(markdown: string): Link[] {
  const targets = [
    ...prose(markdown)
      .replace(/`[^`\n]*`/g, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^[a-z]+:/i.test(target))
    .map((target) => {
      const [path = '', anchor = ''] = target.split('#');
      return { path, anchor };
    });
}
