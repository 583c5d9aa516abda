import * as z from 'zod';
import { textOrNull, toggle } from '../../core/fields.ts';
import { settings } from '../registry.ts';

export const ModelsConfig = z.strictObject({
  hf_token: textOrNull('Access token for the model hub.').register(settings, { env: 'HF_TOKEN' }),
  hf_endpoint: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null)
    .describe('Address of the model hub. Default: the public hub.')
    .register(settings, { env: 'HF_ENDPOINT' }),
  offline: toggle(
    false,
    'Whether downloads are forbidden. A model that is not in the cache is then an error.',
  ).register(settings, { env: 'AANA_OFFLINE', flag: '--offline', isCommonFlag: true }),
});
