// An application without plugins: two models, served to the other processes of this user.
//   node application.js [port]
import { AanaApp } from 'aana-host';

const app = new AanaApp({ name: 'script' });
app.registerDeployment('asr_deployment', { type: 'WhisperDeployment', user_config: { model_size: 'tiny.en', compute_type: 'int8' } });
app.registerDeployment('llm_deployment', {
  type: 'LlamaTextGenerationDeployment',
  user_config: { model_id: 'smollm2-135m-instruct', model_kwargs: { n_ctx: 4096 } },
});

await app.connect({ port: Number(process.argv[2] ?? 8000) });
if (app.attached) {
  console.error(`an application runs at ${app.attached.url} already`);
  process.exit(2);
}
await app.migrate();
await app.deploy({ blocking: true }); // until SIGINT, SIGTERM or `aana-host stop`
