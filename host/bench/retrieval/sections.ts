import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../base/core/package-root.ts';
import { splitText, type SplitTextOptions } from '../../base/splitting/index.ts';
import { anchorOf } from '../../test/helpers/markdown-links.ts';

const DOCS = join(packageRoot, 'docs');

/** A question in the words of a user, and all sections that answer it, such as `tasks.md#routes`. */
export interface Question {
  readonly question: string;
  readonly relevant: readonly string[];
}

export const questions: readonly Question[] = JSON.parse(
  readFileSync(join(packageRoot, 'host/bench/retrieval/questions.json'), 'utf8'),
) as Question[];

export interface SectionChunk {
  readonly section: string;
  readonly text: string;
}

/** Returns the names of all pages of the documentation. */
export function allPages(): string[] {
  return readdirSync(DOCS).filter((name) => name.endsWith('.md'));
}

/** Returns the questions that these pages answer. */
export function questionsAbout(pages: readonly string[]): Question[] {
  const isThere = (section: string): boolean => pages.some((page) => section.startsWith(`${page}#`));
  return questions.filter(({ relevant }) => relevant.every(isThere));
}

/** Returns the chunks of pages. They are divided at the same time, because counts are calls. */
export async function sectionChunks(pages: readonly string[], options: SplitTextOptions): Promise<SectionChunk[]> {
  const chunks = await Promise.all(
    pages.map(async (page) => {
      const text = readFileSync(join(DOCS, page), 'utf8');
      const parts = await splitText(text, { ...options, kind: 'markdown' });
      return parts.map((part) => ({
        section: `${page}#${anchorOf(part.headings.at(-1) ?? '')}`,
        text: part.text,
      }));
    }),
  );
  return chunks.flat();
}
