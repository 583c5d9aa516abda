import * as z from 'zod';
import { amount, toggle, whole } from '../../../base/core/fields.ts';
import { configClass } from '../class/config-class.ts';
import { defineDeployment } from '../class/define-deployment.ts';
import {
  DefaultSamplingParams,
  imageTextHandle,
  textGenerationMethods,
  tokenPromptMethods,
} from '../class/text-generation-methods.ts';
import { countTokensMethod, tokenMethods } from './token-methods.ts';

const seconds = z.number().positive().max(86_400);

/** Characters that a header may have. The schema never shows the value. */
const headerText = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'has characters that no header can have');
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** Headers that belong to the connection or to the body. */
const OWN_HEADERS = /^(host|connection|content-length|content-type|transfer-encoding|accept-encoding|expect)$/i;

const schema = z
  .strictObject({
    base_url: z
      .string()
      .refine(isBaseUrl, 'must be an http or https address without user name, password and query')
      .describe('Address of the server up to `/v1`: `http://127.0.0.1:8000/v1`. It may be a private address.'),
    model: z
      .string()
      .min(1)
      .optional()
      .describe("Name of the model at the server. Default: the server's model, if it has only one."),
    server: z
      .enum(['auto', 'vllm', 'llama-server', 'openai'])
      .default('auto')
      .describe(
        "Kind of the server, which decides about extensions of OpenAI's API. `auto` asks the server, and takes " +
          '`openai`, without extensions, for an unknown one.',
      ),
    api_key: headerText.min(1).optional().describe('Key for the server. Better: `api_key_env`.'),
    api_key_env: z
      .string()
      .regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable')
      .optional()
      .describe('Environment variable of the host that has the key.'),
    headers: z
      .record(z.string(), headerText)
      .superRefine((headers, context) => {
        for (const name of Object.keys(headers)) {
          const message = !HEADER_NAME.test(name)
            ? 'is not the name of a header'
            : OWN_HEADERS.test(name) && 'is set by the deployment itself';
          if (message) context.addIssue({ code: 'custom', path: [name], message, input: name });
        }
      })
      .default({})
      .describe('Further headers of each request.'),
    propagate_trace: toggle(false, 'Whether the server gets the place of a request in its trace, as `traceparent`.'),
    timeout_s: seconds.default(600).describe('Time limit of an answer, with all tries.'),
    idle_timeout_s: seconds.default(120).describe('Seconds without a byte after which an answer is given up.'),
    start_wait_s: amount(
      { min: 0, max: 86_400, default: 120 },
      'Seconds in which a start waits for a server that does not answer yet.',
    ),
    max_retries: whole(
      { min: 0, max: 10, default: 2 },
      'How often a request is repeated when the server is not available or the connection breaks. An answer that ' +
        'has begun is not repeated.',
    ),
    max_parallel: whole({ min: 1, max: 1000, default: 16 }, 'Prompts of a batch that are at the server at a time.'),
    default_sampling_params: z
      .prefault(DefaultSamplingParams, {})
      .describe('Sampling parameters that a request does not set. Default: greedy, at most 256 tokens.'),
  })
  .refine(({ api_key: key, api_key_env: variable }) => key === undefined || variable === undefined, {
    path: ['api_key_env'],
    message: 'must not be given together with api_key',
  });

/** Configuration of a deployment that another server computes. */
export class OpenAITextGenerationConfig extends configClass(schema) {}

function isBaseUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return (
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === ''
  );
}

/** Text generation by a server with OpenAI's API, such as vLLM or llama-server. */
export const OpenAITextGenerationDeployment = defineDeployment({
  name: 'OpenAITextGenerationDeployment',
  configSchema: schema,
  // The server has a queue; calls beyond this number wait in the host, which knows their turn and their deadline.
  maxOngoingRequests: () => 16,
  methods: { ...textGenerationMethods, ...tokenPromptMethods, count_tokens: countTokensMethod, ...tokenMethods },
  optionalHandles: imageTextHandle,
  // It computes nothing, so it takes no processors from other deployments.
  threads: () => 0,
  // The server says itself what its model takes.
  takesImages: () => true,
  prepare: async (config, { env, network }) => ({
    ...config,
    ...(config.api_key_env !== undefined && { api_key: env[config.api_key_env] }),
    network,
  }),
  reconfigurable: ['default_sampling_params'],
  implementation: new URL('../../engines/openai/openai.js', import.meta.url),
});
