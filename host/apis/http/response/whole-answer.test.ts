import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startVariedApp, type VariedApp } from '../../../test/helpers/varied-app.ts';

const Whole = suite('answers of endpoints that do not stream');
let varied: VariedApp;

Whole.before(async () => {
  varied = await startVariedApp();
});
Whole.after(async () => varied?.[Symbol.asyncDispose]());

const colours = [{ name: 'röt' }, { name: 'blue' }];
const send = (input: unknown, query = '', headers = {}): Promise<Response> =>
  fetch(`${varied.url}/colours/list${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(input),
  });

Whole('are JSON, or text of the media type that the output names', async () => {
  const json = await send({ colours });
  assert.match(json.headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(await json.json(), { names: ['röt', 'blue'] });
  const csv = await send({ colours, format: 'csv' }, '', { accept: 'application/json' });
  assert.is(csv.headers.get('content-type'), 'text/csv; charset=utf-8');
  assert.is(csv.headers.get('content-length'), '15');
  assert.is(await csv.text(), 'name\nröt\nblue\n');
});

Whole('run nothing in a browser, also as a page', async () => {
  const page = await send({ colours: [{ name: '<script>' }], format: 'html' });
  assert.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.is(page.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'; sandbox");
  assert.is(page.headers.get('x-content-type-options'), 'nosniff');
});

Whole('are JSON for errors', async () => {
  const refused = await send({ colours: [], format: 'csv' });
  assert.is(refused.status, 422);
  assert.match(refused.headers.get('content-type') ?? '', /^application\/json/);
});

Whole('keep their media type as the result of a task', async () => {
  const { task_id: id } = (await (await send({ colours, format: 'csv' }, '?defer=true')).json()) as { task_id: string };
  const events = await fetch(`${varied.url}/tasks/${id}/events`);
  await events.text(); // ends with the task
  const task = (await (await fetch(`${varied.url}/tasks/${id}`)).json()) as { status: string; result: unknown };
  assert.equal([task.status, task.result], ['completed', { media_type: 'text/csv', text: 'name\nröt\nblue\n' }]);
});

Whole.run();
