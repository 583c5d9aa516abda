// Checks the pages of docs/decisions: each decision has the agreed parts, and the index lists all decisions.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { anchorOf } from '../helpers/markdown-links.ts';

const folder = join(packageRoot, 'docs', 'decisions');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
const pages = readdirSync(folder).filter((file) => file !== 'README.md');
const PARTS = ['**Context.**', '**Decision.**', '**Cost.**', '**Revisit when**'];
/** Maximum number of decisions on a page. Divide a page with more by the subjects of its decisions. */
const MOST_OF_PAGE = 12;

interface Decision {
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

function decisionsOf(page: string): Decision[] {
  const [, ...sections] = read(page).split(/^## /m);
  return sections.map((section) => {
    const end = section.indexOf('\n');
    return { page, heading: section.slice(0, end), text: section.slice(end) };
  });
}

const Decisions = suite('the pages of decisions');

Decisions('have at most twelve decisions each', () => {
  assert.ok(pages.length > 5, 'the pages were not found');
  for (const page of pages)
    assert.ok(decisionsOf(page).length <= MOST_OF_PAGE, `${page} has ${decisionsOf(page).length} decisions`);
});

Decisions('give the context, decision and cost of each decision, in this order', () => {
  for (const { page, heading, text } of pages.flatMap(decisionsOf)) {
    const parts = [...text.matchAll(/^\*\*[A-Z][a-z ]+\.?\*\*/gm)].map(([part]) => part);
    const expected = parts.includes('**Revisit when**') ? PARTS : PARTS.slice(0, 3);
    assert.equal(parts, expected, `${page}: ${heading}`);
  }
});

Decisions('are all listed in the index, which lists nothing else', () => {
  const listed = read('README.md').match(/^- \[.*$/gm) ?? [];
  const expected = pages
    .flatMap(decisionsOf)
    .map(({ page, heading }) => `- [${heading}](${page}#${anchorOf(heading)})`);
  assert.equal([...listed].sort(), expected.sort());
});

Decisions.run();
