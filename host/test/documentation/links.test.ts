// Checks that links between the pages of this repository lead to files and headings that exist.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { anchorsOf, linksOf } from '../helpers/markdown-links.ts';

const SKIPPED = new Set(['node_modules', '.git', 'build', 'dist', 'shared']);

function pagesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : pagesIn(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

const pages = pagesIn(packageRoot);
const nameOf = (path: string): string => relative(packageRoot, path);

const Links = suite('links between pages');

Links('lead to files and headings that exist', () => {
  assert.ok(pages.length > 20, 'the pages were not found');
  const broken: string[] = [];
  let checked = 0;
  for (const page of pages) {
    const text = readFileSync(page, 'utf8');
    for (const { path, anchor } of linksOf(text)) {
      checked += 1;
      const target = path === '' ? page : join(dirname(page), path);
      const isThere = existsSync(target) && (anchor === '' || anchorsOf(readFileSync(target, 'utf8')).has(anchor));
      if (!isThere) broken.push(`${nameOf(page)}: ${path}${anchor && `#${anchor}`}`);
    }
  }
  assert.ok(checked > 100, 'the links were not found');
  assert.equal(broken, []);
});

// Published guides are `files` of package.json. They include docs/*.md, but not docs/decisions, which is for people who
// change this package.
Links('of published guides do not lead to decisions', () => {
  const guides = pages.filter((page) => /^docs\/[^/]+\.md$/.test(nameOf(page)));
  assert.ok(guides.length > 10, 'the guides were not found');
  const wrong = guides.filter((page) =>
    linksOf(readFileSync(page, 'utf8')).some(({ path }) => path.includes('decisions/')),
  );
  assert.equal(wrong.map(nameOf), []);
});

Links.run();
