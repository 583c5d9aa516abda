import * as z from 'zod';
import { amount, textOrNull, toggle, whole } from '../../../core/fields.ts';
import { MIB, positiveBytes } from '../fields.ts';
import { settings } from '../../registry.ts';
import { GPUS } from '../../../../inference/deployments/class/deployment-options.ts';

const modelName = z.string().min(1).max(255);

/** An alias of which one of several models answers a request. */
const SharedAlias = z
  .strictObject({
    deployments: z
      .array(z.strictObject({ name: modelName, weight: z.number().min(0).max(1_000_000).default(1) }))
      .min(1)
      .max(32)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'has a name twice')
      .refine((all) => all.some(({ weight }) => weight > 0), 'must have a weight above 0'),
    fallbacks: z.array(modelName).max(32).default([]),
    fallback_after_s: z.number().positive().max(86_400).nullable().default(null),
  })
  .refine(({ fallbacks, fallback_after_s: after }) => after === null || fallbacks.length > 0, {
    path: ['fallback_after_s'],
    message: 'needs fallbacks',
  });

/** OpenAI's and Anthropic's APIs over the deployments. */
export const OpenAiConfig = z.strictObject({
  enabled: toggle(
    true,
    'Whether `/v1/…` and `/chat/completions` are served. See [openai-compatibility.md](openai-compatibility.md) ' +
      'and [anthropic-compatibility.md](anthropic-compatibility.md).',
  ).register(settings, { env: 'OPENAI_ENDPOINT_ENABLED' }),
  strict: toggle(
    false,
    'Whether a parameter that has no effect here is refused. Otherwise the header ' +
      '`x-aana-ignored-parameters` names it.',
  ),
  hosted_tools: z
    .enum(['refuse', 'drop'])
    .default('refuse')
    .describe(
      'What happens to a request of `/v1/responses` or `/v1/messages` with tools that only the servers of others ' +
        'run, such as `web_search`: it is refused, or the model does not see them and the header ' +
        '`x-aana-ignored-parameters` names them. With `strict` it is refused.',
    ),
  active_subscription_required: toggle(
    false,
    'Whether requests below `/v1` and at `/chat/completions` that compute or store something need an API key ' +
      'whose subscription is active. Others are refused with 429 and `insufficient_quota`.',
  ),
  aliases: z
    .record(modelName, z.union([modelName, SharedAlias]))
    .default({})
    .describe(
      'Further names of models, such as `{"gpt-4o-mini": "llm_deployment"}`. Each stands for a deployment, the id ' +
        'of a model, or one of these with `:adapter`, or for several of them with weights and fallbacks. See ' +
        '[one name for several deployments](openai-compatibility.md#one-name-for-several-deployments).',
    )
    .register(settings, { isLive: true }),
  on_demand: z
    .strictObject({
      models: z
        .array(z.string().regex(/^[\w.:*/-]{1,255}$/, 'has a character that no name of a model has'))
        .max(1000)
        .default([])
        .describe(
          'Models that a request starts by naming them: ids of the catalogue, and `owner/repo` and ' +
            '`owner/repo/file.gguf` of the hub. `*` stands for any characters, and `*` without `/` allows models of ' +
            'the catalogue alone. See ' +
            '[models on demand](openai-compatibility.md#models-on-demand). Default: none.',
        )
        .register(settings, { isLive: true }),
      keep_alive_s: amount(
        { min: 0, max: 86_400, default: 300 },
        'Time after its last request for which such a model stays, in seconds.',
      ).register(settings, { isLive: true }),
      max_models: whole(
        { min: 1, max: 64, default: 3 },
        'Most such models at the same time. Another one ends the one that was not used for longest, or is refused ' +
          'while all of them work.',
      ).register(settings, { isLive: true }),
      max_bytes: positiveBytes(
        16 * 1024 * MIB,
        'Most bytes of the files of such a model. A larger one is refused before it is fetched.',
      ).register(settings, { isLive: true }),
      num_gpus: GPUS.default(0)
        .describe('GPUs for each such model, or a share of one GPU below 1. With 0 they run on the CPU.')
        .register(settings, { isLive: true }),
    })
    .prefault({})
    .describe('Models that requests start.'),
  audio_input: z
    .strictObject({
      deployment: textOrNull(
        'Deployment of speech to text that transcribes audio in dialogs of `/v1/chat/completions` and ' +
          '`/v1/responses`. Without it such audio is refused.',
      ),
      max_bytes: positiveBytes(
        25 * MIB,
        'Most bytes of audio in one dialog. Requests of these routes may be larger than `limits.max_json_bytes` by ' +
          'the base64 of it.',
      ),
    })
    .prefault({})
    .describe('Audio in dialogs.'),
  image_input: z
    .strictObject({
      max_images: whole(
        { min: 0, max: 64, default: 16 },
        'Most images in one dialog of `/v1/chat/completions`, `/v1/responses` and `/v1/messages`.',
      ),
      max_bytes: positiveBytes(
        20 * MIB,
        'Most bytes of one image file that is fetched, and of all image files inside of one request. Requests to ' +
          'models that take images may be larger than `limits.max_json_bytes` by the base64 of them.',
      ),
      fetch: toggle(
        true,
        'Whether images are fetched from their addresses. Private addresses are refused unless ' +
          '`media.allow_private_urls` is set.',
      ),
    })
    .prefault({})
    .describe('Images in dialogs, for models that take them.'),
  video_input: z
    .strictObject({
      max_frames: whole(
        { min: 0, max: 256, default: 64 },
        'Most frames of all videos in one dialog of `/v1/chat/completions` that a model sees. More are thinned ' +
          'evenly; 0 refuses videos. Videos in the request count as its images do, and those that are fetched have ' +
          'the limits of `media`.',
      ),
    })
    .prefault({})
    .describe('Videos in dialogs, for models that take images.'),
  responses: z
    .strictObject({
      store: toggle(
        true,
        'Whether responses are stored, unless a request has `"store": false`. Otherwise a request that asks for ' +
          'it is refused.',
      ),
      retention: amount(
        { min: 0, max: 31_536_000, default: 2_592_000 },
        'Time for which the host keeps a response after it was stored or continued, in seconds; 0 keeps it ' +
          'without limit.',
      ),
      maximum_stored_bytes_per_user: whole(
        { min: 0, default: 2 ** 30 },
        'Most bytes of responses and their inputs that one user keeps. Those that were not used for longest are ' +
          'removed. 0 is no limit. Without API keys, all callers are one user.',
      ),
      created_after: amount(
        { min: 0, max: 3600, default: 1 },
        'Time of silence after which a stream begins with `response.created`, so that a client knows the response ' +
          'while it waits in a queue, in seconds. 0 sends it at once. Until then an error has its own status; ' +
          'after it, it is the event `response.failed`.',
      ),
      concurrent_background_responses: whole(
        { min: 1, max: 1000, default: 16 },
        'Most responses with `"background": true` that a host makes at the same time. They are tasks, so they ' +
          'need the task queue.',
      ),
    })
    .prefault({})
    .describe('The stored responses of `/v1/responses`.'),
  files: z
    .strictObject({
      retention: amount(
        { min: 0, max: 31_536_000, default: 2_592_000 },
        'Time for which the host keeps a file that was uploaded without `expires_after`, in seconds; 0 keeps it ' +
          'without limit.',
      ),
      maximum_stored_bytes_per_user: whole(
        { min: 0, default: 20 * 2 ** 30 },
        'Most bytes of files that one user keeps; more are refused (status 413). 0 is no limit. Without API keys, ' +
          'all callers are one user.',
      ),
    })
    .prefault({})
    .describe('The stored files of `/v1/files`.'),
  batches: z
    .strictObject({
      concurrent_batches: whole({ min: 1, max: 100, default: 2 }, 'Most batches that a host runs at the same time.'),
      concurrent_requests: whole(
        { min: 1, max: 1000, default: 4 },
        'Most requests of one batch that run at the same time. They go after other requests of the same user.',
      ),
      maximum_requests: whole({ min: 1, max: 1_000_000, default: 50_000 }, 'Most requests of one batch.'),
      retention: z
        .number()
        .min(0)
        .max(31_536_000)
        .default(2_592_000)
        .refine((seconds) => seconds === 0 || seconds >= 172_800, 'must be 0 or at least two days')
        .describe(
          'Time for which the host keeps a batch after it was created, in seconds: at least two days; 0 keeps it ' +
            'without limit.',
        ),
    })
    .prefault({})
    .describe('The batches of `/v1/batches` and `/v1/messages/batches`. They are tasks, so they need the task queue.'),
  vector_stores: z
    .strictObject({
      embedding_deployment: textOrNull(
        'Deployment that makes the vectors of `/v1/vector_stores`, or an alias of it. Default: the only deployment ' +
          'for embeddings. After a change, stores get new vectors from their texts when they are next used.',
      ),
      maximum_stores_per_user: whole({ min: 1, max: 100_000, default: 1000 }, 'Most vector stores of one user.'),
      maximum_files_per_store: whole({ min: 1, max: 1_000_000, default: 10_000 }, 'Most files of one vector store.'),
      maximum_file_bytes: positiveBytes(
        32 * MIB,
        'Most bytes of a file that is read into a vector store, and of its text.',
      ),
      maximum_stored_bytes_per_user: whole(
        { min: 0, default: 4 * 2 ** 30 },
        'Most bytes of texts with their vectors in all vector stores of one user; further files fail. 0 is no limit. ' +
          'Without API keys, all callers are one user.',
      ),
      concurrent_runs: whole(
        { min: 1, max: 100, default: 2 },
        'Most requests whose files a host reads at the same time, each file after the other. They are tasks, so they ' +
          'need the task queue.',
      ),
    })
    .prefault({})
    .describe('The vector stores of `/v1/vector_stores`.'),
});
