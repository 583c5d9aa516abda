import * as z from 'zod';

export const ModelsConfig = z.strictObject({
  hf_token: z.string().min(1).nullable().default(null).describe('Access token for the model hub.'),
  hf_endpoint: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null)
    .describe('Address of the model hub. Default: the public hub.'),
  offline: z
    .boolean()
    .default(false)
    .describe('Whether downloads are forbidden. A model that is not in the cache is then an error.'),
});
