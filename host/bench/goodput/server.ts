// An application with one deployment of the kind in BENCH_KIND (`fixed` or `llm`), whose requests have
// BENCH_DEADLINE_S. Started by ../goodput.ts.
import {
  AanaApp,
  Endpoint,
  type HandleOf,
  type HostEndpointContext,
  LlamaTextGenerationDeployment,
  loadConfig,
  z,
} from '../../index.ts';
import { served } from '../plugins/served.ts';
import { SleepDeployment } from './sleep-deployment.ts';

const {
  BENCH_KIND: kind = 'fixed',
  BENCH_DEADLINE_S: deadline = '2',
  BENCH_SERVICE_MS: service = '200',
  BENCH_TOKENS: tokens = '24',
} = process.env;

const config = loadConfig({
  cwd: '/',
  base: { limits: { invocation_timeout_s: Number(deadline) }, log: { level: 'error' }, task_queue: { enabled: false } },
});
const input = z.strictObject({ n: z.int() });

/** Calls its deployment as README does. */
class Tell extends Endpoint {
  readonly input = input;
  readonly output = z.any();

  async run({ n }: z.output<typeof input>, { signal }: HostEndpointContext): Promise<unknown> {
    const sampling_params = { max_tokens: Number(tokens), temperature: 0 };
    const dialog = { messages: [{ role: 'user' as const, content: `Tell me a story about the number ${n}.` }] };
    return this.handle(LlamaTextGenerationDeployment, 'model').chat({ dialog, sampling_params }, { signal });
  }
}

/** Makes its handle as docs/application.md does. */
class Sleep extends Endpoint {
  readonly input = input;
  readonly output = z.null();
  #model: HandleOf<typeof SleepDeployment> | undefined;

  override async initialize(): Promise<void> {
    await super.initialize();
    this.#model = this.handle(SleepDeployment, 'model');
  }

  async run(_: unknown, { signal }: HostEndpointContext): Promise<null> {
    return (await this.#model?.work({ ms: Number(service) }, { signal })) ?? null;
  }
}

const app = new AanaApp({ name: 'goodput', config, progress: { write: () => true } });
if (kind === 'llm') {
  app.registerDeployment(
    'model',
    LlamaTextGenerationDeployment.options({
      max_queued_requests: 1000,
      user_config: { model_id: 'smollm2-135m-instruct', model_kwargs: { n_threads: 1, n_ctx: 2048 } },
    }),
  );
  app.registerEndpoint({ name: 'work', path: '/work', summary: 'Answers', endpoint_cls: Tell });
} else {
  app.registerDeployment('model', SleepDeployment.options({ max_ongoing_requests: 4, max_queued_requests: 1000 }));
  app.registerEndpoint({ name: 'work', path: '/work', summary: 'Sleeps', endpoint_cls: Sleep });
}
await app.connect({ port: 0, show_logs: false });
await app.deploy();
served({ port: Number(new URL(app.url ?? '').port), close: () => app.shutdown({ graceMs: 0 }) });
