import { defineEndpoint, z } from 'aana-host/plugin';
import { Library, Passage, Question } from './library.ts';

/** Finds what was said about something. */
export const searchLibrary = defineEndpoint({
  name: 'library_search',
  path: '/library/search',
  summary: 'Search the speech of the videos',
  description: 'Finds passages by their meaning and by their words, ranked together. The best comes first.',
  input: z.extend(Question, { limit: z._default(z.int().check(z.minimum(1), z.maximum(100)), 10) }),
  output: z.strictObject({
    passages: z.array(z.extend(Passage, { score: z.number().check(z.describe('From 0 to 1.')) })),
  }),
  uses: ['storage', 'vectors'],
  async run({ limit, ...question }, ctx) {
    const found = await new Library(ctx).search(question, limit);
    return { passages: found.map(({ passage, score }) => ({ ...passage, score })) };
  },
});
