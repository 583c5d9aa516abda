// An application with one language model, whose endpoint `/completion` answers like llama-server's. BENCH_LLM has the
// options. Started by ../llm.ts.
import { AanaApp, LlamaTextGenerationDeployment, loadConfig, z } from '../../index.ts';
import { flatMapped } from '../../base/core/async/async-values.ts';
import { served } from '../plugins/served.ts';
import type { ServerOptions } from './subjects.ts';

interface Options extends ServerOptions {
  readonly modelKwargs: Readonly<Record<string, unknown>>;
  readonly adapters: Readonly<Record<string, { readonly model_id: string }>>;
}
const { modelPath, slots, contextTokens, threads, modelKwargs, adapters } = JSON.parse(
  process.env['BENCH_LLM'] ?? '{}',
) as Options;

/** The replica reports its metrics with each health check. */
const REPORT_PERIOD_S = 0.5;

const config = loadConfig({
  cwd: '/',
  base: { log: { level: 'error' }, task_queue: { enabled: false }, limits: { invocation_timeout_s: 3600 } },
});
const app = new AanaApp({ name: 'llm', config, progress: { write: () => true } });
app.registerDeployment(
  'model',
  LlamaTextGenerationDeployment.options({
    max_queued_requests: 1000,
    health_check_period_s: REPORT_PERIOD_S,
    user_config: {
      model_id: modelPath,
      model_kwargs: { n_threads: threads, n_ctx: contextTokens, n_seq_max: slots, ...modelKwargs },
      adapters,
    },
  }),
);
const input = z.object({
  prompt: z.string(),
  n_predict: z.int(),
  ignore_eos: z.boolean(),
  margins: z.boolean().optional(),
  adapter: z.string().optional(),
  json_schema: z.record(z.string(), z.unknown()).optional(),
});
app.registerEndpoint({
  ...{ name: 'completion', path: '/completion', summary: 'Completes a text', input },
  output: z.object({
    text: z.string(),
    tokens_predicted: z.int().optional(),
    tokens_evaluated: z.int().optional(),
    timings: z.object({ cache_n: z.int().optional() }).optional(),
    tokens: z.array(z.unknown()).optional(),
  }),
  async *run({ prompt, n_predict, ignore_eos, margins, adapter, json_schema }, context) {
    const sampling_params = {
      max_tokens: n_predict,
      temperature: 0,
      ignore_eos,
      ...(margins && { logprobs: 2 }),
      ...(json_schema && { structured_outputs: { json: json_schema } }),
    };
    const model = app.handle(LlamaTextGenerationDeployment, 'model');
    const pieces = flatMapped(
      model.generate_stream({ prompt, sampling_params, adapter }, context),
      ({ text, logprobs }) => {
        const tokens = logprobs?.map(({ bytes, top_logprobs: [best, next] }) => ({
          text: Buffer.from(bytes).toString('latin1'),
          margin: (best?.logprob ?? 0) - (next?.logprob ?? 0),
        }));
        return [{ text, ...(tokens && { tokens }) }];
      },
    );
    const details = yield* pieces;
    const { completion_tokens: predicted, prompt_tokens: evaluated, cached_tokens: reused } = details?.usage ?? {};
    yield { text: '', tokens_predicted: predicted, tokens_evaluated: evaluated, timings: { cache_n: reused } };
  },
});
await app.connect({ port: 0, show_logs: false });
await app.deploy();
served({ port: Number(new URL(app.url ?? '').port), close: () => app.shutdown({ graceMs: 0 }) });
