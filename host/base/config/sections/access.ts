import * as z from 'zod';
import { amount, toggle, whole } from '../../core/fields.ts';

/** API keys and the data of their users. */
export const ApiServiceConfig = z.strictObject({
  enabled: toggle(false, 'Whether requests need an API key. See [security.md](security.md).'),
  expired_key_retention_s: amount(
    { min: 0, max: 315_360_000, default: 2_592_000 },
    'Time for which expired API keys are kept, for people, in seconds; 0 keeps them without limit.',
  ),
  share_repositories: toggle(
    false,
    'Whether all users share the videos, captions and transcripts that plugins keep. Otherwise each user ' +
      'has their own.',
  ),
  shared_storage: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Plugins whose storage and collections of vectors all users share; `*` is all. The other plugins store those ' +
        'of each user separately.',
    ),
  maximum_repository_bytes_per_user: whole(
    { min: 1, default: 1024 ** 3 },
    'Most bytes of videos, captions and transcripts that one user keeps; more is refused (status 413). Shared ' +
      'data is not limited.',
  ),
  user_weights: z
    .record(z.string().min(1).max(255), z.number().min(0.001).max(1000))
    .default({})
    .describe(
      'Parts that users get of a busy deployment: a user with weight 3 gets three times as much computed as a user ' +
        'with weight 1, however many requests each sends. Users without a weight have 1.',
    ),
  admins_see_contents: toggle(
    false,
    'Whether admins see the contents of other users’ tasks (input, result, errors) and the whole URLs of their ' +
      'webhooks. Admins can always list and end both.',
  ),
});
