// Calls of tools whose arguments stand one by one between marks, as Qwen3-Coder writes them, with a tiny model.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compileJsonSchema } from '../../base/json-schema/index.ts';
import type { ChatOutputWithDetails } from '../../base/schemas/index.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { tinyTexts } from './fixtures/tiny-texts.ts';

const Tagged = suite('arguments between marks');
/** Names the tools only, because the model reads character by character and has a small context. */
const TEMPLATE = `{%- for tool in tools or [] %}{{- tool.function.name }}{%- endfor %}
{%- for message in messages %}
{%- if message.role == 'assistant' and message.tool_calls %}
{{- '<|im_start|>assistant\\n' }}
{%- for call in message.tool_calls %}
{{- '<tool_call>\\n<function=' + call.function.name + '>\\n' }}
{%- for name, value in call.function.arguments | items %}
{{- '<parameter=' + name + '>\\n' }}{{- value if value is string else value | tojson }}{{- '\\n</parameter>\\n' }}
{%- endfor %}
{{- '</function>\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

const tiny = tinyTexts(Tagged, {
  model_kwargs: { n_ctx: 512, chat_template: TEMPLATE },
});

Tagged('meet their schema, also texts without quotes', async () => {
  const parameters = {
    type: 'object',
    properties: {
      unit: { enum: ['celsius', 'fahrenheit'] },
      day: { type: 'string', format: 'date' },
      code: { type: 'string', pattern: '^[A-Z]{2}[0-9]$' },
      short: { type: 'string', maxLength: 5 },
      n: { type: 'number', minimum: 5, exclusiveMaximum: 5.5 },
      flags: { type: 'array', items: { type: 'boolean' }, minItems: 2, maxItems: 2 },
    },
    required: ['unit', 'day', 'code', 'short', 'n', 'flags'],
    additionalProperties: false,
  };
  const schema = compileJsonSchema(parameters);
  for (let seed = 1; seed <= 8; seed += 1) {
    const { message, details } = (await tiny.llm.call('chat', {
      dialog: { messages: [{ role: 'user', content: 'The cat' }] },
      tools: [{ function: { name: 'f', parameters } }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      details: true,
      sampling_params: { temperature: 1, seed, max_tokens: 350 },
    })) as ChatOutputWithDetails;
    const [call] = message.tool_calls ?? [];
    assert.equal([message.content, details?.finish_reason], ['', 'tool_calls'], JSON.stringify(message));
    assert.equal(schema.issues(JSON.parse(call!.function.arguments)), [], call!.function.arguments);
  }
});

if (cannotRun === undefined) Tagged.run();
else skip('arguments between marks', cannotRun);
