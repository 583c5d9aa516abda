import * as z from 'zod';

/** API keys, and what belongs to their users. */
export const ApiServiceConfig = z.strictObject({
  enabled: z.boolean().default(false).describe('Whether requests need an API key. See [security.md](security.md).'),
  share_repositories: z
    .boolean()
    .default(false)
    .describe(
      'Whether all users share the videos, captions and transcripts that plugins keep. Without it each user has their own.',
    ),
  shared_storage: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Plugins whose storage all users share; `*` is every one. The others store the values of each user apart.',
    ),
  maximum_repository_bytes_per_user: z
    .int()
    .min(1)
    .default(1024 ** 3)
    .describe(
      'Videos, captions and transcripts that one user keeps, in bytes; more is refused (status 413). What users share is not limited.',
    ),
  admins_see_contents: z
    .boolean()
    .default(false)
    .describe(
      'Whether admins see what tasks of other users say (input, result, errors) and whole URLs of their webhooks. They see that these exist, and can end them, in any case.',
    ),
});
