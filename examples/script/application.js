// An application without plugins: two models for the other processes of this user.
//   node application.js [port]
import {
  AanaApp,
  LlamaTextGenerationConfig,
  LlamaTextGenerationDeployment,
  WhisperComputeType,
  WhisperConfig,
  WhisperDeployment,
  WhisperModelSize,
} from 'aana-host';

const app = new AanaApp({ name: 'script' });
app.registerDeployment(
  'asr_deployment',
  WhisperDeployment.options({
    user_config: new WhisperConfig({ model_size: WhisperModelSize.TINY_EN, compute_type: WhisperComputeType.INT8 }),
  }),
);
app.registerDeployment(
  'llm_deployment',
  LlamaTextGenerationDeployment.options({
    user_config: new LlamaTextGenerationConfig({ model_id: 'smollm2-135m-instruct', model_kwargs: { n_ctx: 4096 } }),
  }),
);

await app.connect({ port: Number(process.argv[2] ?? 8000) });
if (app.attached) {
  console.error(`an application already runs at ${app.attached.url}`);
  process.exit(2);
}
await app.migrate();
await app.deploy({ blocking: true }); // runs until SIGINT, SIGTERM or `aana-host stop`
