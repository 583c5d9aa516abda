import * as z from 'zod';

export const ModelsConfig = z.strictObject({
  hf_token: z.string().min(1).nullable().default(null).describe('Token for the model hub.'),
  hf_endpoint: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null)
    .describe('Address of the model hub, when it is not the public one.'),
  offline: z.boolean().default(false).describe('Whether nothing is downloaded: what is not in the cache is missing.'),
});
