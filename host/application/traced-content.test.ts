// What spans of a real language model have of prompts and answers.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../engines/fixtures/real-models.ts';
import { startOpenAiApp } from '../http/routes/openai/fixtures/openai-app.ts';
import { LlamaTextGenerationDeployment } from '../index.ts';
import { attributesOf, Collector } from '../telemetry/fixtures/collector.ts';
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

Content.run();
