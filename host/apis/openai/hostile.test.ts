// Chat requests that nobody should send, with parameters that only this route has.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { skip } from '../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const Hostile = suite('hostile requests of OpenAI’s API');
let at: OpenAiApp;

Hostile.before(async () => {
  at = await startOpenAiApp();
});
Hostile.after(async () => at?.[Symbol.asyncDispose]());

const HELLO = { model: 'tiny', messages: [{ role: 'user', content: 'Once upon a time' }], max_tokens: 2 };
const withText = (content: unknown): object => ({ ...HELLO, messages: [{ role: 'user', content }] });
const image = (url: string): object => withText([{ type: 'image_url', image_url: { url } }]);

const REFUSED: [what: string, body: object][] = [
  ['a billion answers', { ...HELLO, n: 1e9 }],
  ['100,000 stop texts', { ...HELLO, stop: Array(100_000).fill('x') }],
  ['100,000 biases', { ...HELLO, logit_bias: Object.fromEntries(Array.from({ length: 1e5 }, (_, n) => [n, 1])) }],
  ['a pattern with a look-behind', { ...HELLO, guided_regex: '(?<=a)b' }],
  ['a pattern with a huge repetition', { ...HELLO, guided_regex: '(a{1000}){1000}{1000}' }],
  ['a grammar without a root', { ...HELLO, grammar: 'a ::= "b"' }],
  ['a grammar that is none', { ...HELLO, grammar: '\0::=((((' }],
  ['an image of a private address', image('http://169.254.169.254/latest/meta-data')],
  ['an image of a file', image('file:///etc/passwd')],
  ['an image of 1 MB of base64', image(`data:image/png;base64,${'A'.repeat(1_000_000)}`)],
  ['audio', withText([{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }])],
  ['template arguments of the engine', { ...HELLO, chat_template_kwargs: { messages: [] } }],
];

for (const [what, body] of REFUSED)
  Hostile(`${what} is refused`, async () => {
    for (const stream of [false, true]) {
      const response = await at.post('/v1/chat/completions', { ...body, ...(stream && { stream }) });
      const text = await response.text();
      assert.is(response.status, 400, text.slice(0, 500));
      const { error } = JSON.parse(text) as { error: { message: string; type: string } };
      assert.is(error.type, 'invalid_request_error');
      assert.ok(error.message.length > 0 && error.message.length < 2000, `${error.message.length} characters`);
    }
    const after = await at.post('/v1/chat/completions', HELLO);
    assert.is(after.status, 200, await after.text());
  });

Hostile('a pattern that backtracks in other engines is served', async () => {
  const response = await at.post('/v1/chat/completions', { ...HELLO, guided_regex: '(a+)+b' });
  assert.is(response.status, 200, await response.text());
});

if (cannotRun !== undefined) skip('hostile requests of OpenAI’s API', cannotRun);
else Hostile.run();
