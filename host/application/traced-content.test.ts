// What spans of real models have of prompts, answers and transcripts.
import { createReadStream } from 'node:fs';
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../inference/engines/fixtures/cannot-run.ts';
import { startAudioApp } from '../apis/openai/fixtures/audio-app.ts';
import { startOpenAiApp } from '../apis/openai/fixtures/openai-app.ts';
import { LlamaTextGenerationDeployment } from 'aana-host';
import { attributesOf, Collector, type OtlpSpan } from '../base/telemetry/fixtures/collector.ts';
import { until } from '../test/helpers/server.ts';
import { SAMPLE_TEXT, speechPath } from '../test/helpers/media/media.ts';
import { wordErrors } from '../test/helpers/media/word-errors.ts';
import { skip } from '../test/skip.ts';

const Content = suite('prompts and answers in spans');
const QUESTION = 'Where is the lighthouse?';

if (cannotRun) skip('prompts and answers in spans', cannotRun);
else
  for (const content of [false, true])
    Content(content ? 'are there if the operator wants them' : 'are not there otherwise', async () => {
      await using collector = await Collector.start();
      await using at = await startOpenAiApp({
        config: {
          telemetry: { traces: { content }, otlp: { endpoint: collector.url, schedule_delay_ms: 10 } },
        },
        prepare: (app, tiny) => {
          const user_config = { model_id: tiny, model_kwargs: { n_ctx: 256, n_threads: 1, n_seq_max: 1 } };
          app.registerDeployment('watched', LlamaTextGenerationDeployment.options({ user_config }));
        },
      });
      const answer = await at.post('/v1/chat/completions', {
        model: 'watched',
        messages: [{ role: 'user', content: QUESTION }],
        max_tokens: 4,
      });
      const { choices } = (await answer.json()) as { choices: [{ message: { content: string } }] };
      const attributes = attributesOf((await collector.spanNamed('chat watched')).attributes);
      const written = ['input', 'output'].map((side) => attributes[`gen_ai.${side}.messages`]);
      if (!content) {
        assert.equal(written, [undefined, undefined]);
        assert.not.match(JSON.stringify(collector.spans), /lighthouse/);
        return;
      }
      const [input, output] = written.map((text) => JSON.parse(String(text)) as unknown);
      const said = (text: string): unknown[] => [{ type: 'text', content: text }];
      assert.equal(input, [{ role: 'user', parts: said(QUESTION) }]);
      assert.equal(output, [{ role: 'assistant', parts: said(choices[0].message.content), finish_reason: 'length' }]);
    });

const HINT = 'An inaugural address';

if (!cannotRun)
  for (const content of [false, true])
    Content(`have transcripts only if the operator wants them: ${content}`, async () => {
      await using collector = await Collector.start();
      await using at = await startAudioApp({
        config: {
          api_service: { enabled: true },
          telemetry: { traces: { content }, otlp: { endpoint: collector.url, schedule_delay_ms: 10 } },
        },
      });
      const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
      const client = new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });
      const request = { model: 'whisper-1', prompt: HINT };
      const whole = await client.audio.transcriptions.create({ ...request, file: createReadStream(speechPath()) });
      assert.is(wordErrors(SAMPLE_TEXT, whole.text), 0, whole.text);
      const file = createReadStream(speechPath());
      for await (const _ of await client.audio.transcriptions.create({ ...request, file, stream: true }));
      const calls = (): OtlpSpan[] => collector.spans.filter(({ name }) => name === 'aana.deployment.call');
      await until(async () => calls().length === 2 && collector.spans.filter(({ kind }) => kind === 2).length === 2);
      const written = calls().map(({ attributes }) => attributesOf(attributes)['aana.transcript']);
      if (content) for (const text of written) assert.is(wordErrors(SAMPLE_TEXT, String(text)), 0, String(text));
      else assert.equal(written, [undefined, undefined]);
      const all = JSON.stringify(collector.exports);
      if (!content) assert.not.match(all, /americans|inaugural/i);
      assert.not.match(all, apiKey);
    });

Content.run();
