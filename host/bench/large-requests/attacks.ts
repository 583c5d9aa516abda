// What is sent: the generated inputs that cost most for each route, event of a socket and line of a batch.
import { whereOf } from '../../apis/openapi/index.ts';
import { loadConfig } from '../../base/config/index.ts';
import { allRoutes } from '../../apis/http/fixtures/all-routes.ts';
import { requestSchemas } from '../../apis/http/fixtures/request-schemas.ts';
import { LargeValues, schemaAttacks } from '../../apis/http/fixtures/schema-attacks.ts';
import { checkedValue } from '../../base/schemas/index.ts';

export interface LargeRequest {
  /** The method and path, `/v1/realtime` or `/v1/batches`. */
  readonly to: string;
  readonly what: string;
  readonly body: string;
}

/** Requests for each schema. */
const WORST = 3;
const MODEL = 'tiny';

const { limits } = loadConfig({ cwd: '/', env: {} });
const large = new LargeValues(limits);

/** The routes with a body, by the names that their schemas have in `requestSchemas`. */
const routes = new Map(allRoutes.map((route) => [`${route.id}.body`, route]));

/** Yields for each route the inputs whose check takes longest. Some routes share schemas, which are attacked once. */
export function* httpAttacks(): Generator<LargeRequest> {
  const seen = new Set<(typeof requestSchemas)[number][1]>();
  for (const [path, schema] of requestSchemas) {
    const route = routes.get(path);
    if (!route) continue;
    let worst: (LargeRequest & { readonly ms: number })[] = [];
    const to = `${whereOf(route).method.toUpperCase()} ${whereOf(route).path.replaceAll(/\{\w+\}/g, 'none')}`;
    for (const { what, at, input } of schemaAttacks(schema, large, seen, { at: '', around: (value) => value })) {
      const start = performance.now();
      const { issues } = checkedValue(schema, input);
      const ms = performance.now() - start;
      if (worst.length === WORST && ms < worst.at(-1)!.ms) continue;
      const body = JSON.stringify({ ...(input as object), ...(at !== '.model' && { model: MODEL }) });
      if (Buffer.byteLength(body) > limits.max_json_bytes) continue;
      worst = [...worst, { to, what: `${at || 'body'}: ${what}${issues ? ', wrong' : ''}`, body, ms }]
        .toSorted((a, b) => b.ms - a.ms)
        .slice(0, WORST);
    }
    yield* worst;
  }
}

const ofNumbers = (bytes: number): string => `[${'0,'.repeat(bytes / 2 - 500)}0]`;
const ofObjects = `[${'{},'.repeat(49_000)}{}]`;
const HELLO = '[{"role":"user","content":"Hello"}]';

/** Bodies with base64 besides the JSON, which a model that takes images allows. */
export function* imageAttacks(): Generator<LargeRequest> {
  const to = 'POST /v1/chat/completions';
  const most = 26 * 1024 * 1024;
  const image = (url: string): string =>
    `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"${url}"}}]}]`;
  const url = `data:image/png;base64,${'A'.repeat(most)}`;
  yield { to, what: '26 MB of base64 that is no image', body: `{"model":"seeing","messages":${image(url)}}` };
  yield {
    to,
    what: '26 MB of base64 and mistakes',
    body: `{"model":"seeing","messages":${image(url)},"stop":${ofNumbers(4_000_000)}}`,
  };
  yield { to, what: '26 MB of numbers', body: `{"model":"seeing","messages":${ofNumbers(most)}}` };
  yield {
    to,
    what: '26 MB of members without their names',
    body: `{"model":"seeing","messages":[${'{"url":"A"},'.repeat(most / 12)}{}]}`,
  };
}

export function* socketAttacks(): Generator<LargeRequest> {
  const to = '/v1/realtime';
  const update = (what: string, session: string): LargeRequest => ({
    to,
    what,
    body: `{"type":"session.update","session":{"type":"transcription",${session}}}`,
  });
  yield update('include of numbers', `"include":${ofNumbers(900_000)}`);
  yield update('include of objects', `"include":${ofObjects}`);
  yield update('unknown members', Array.from({ length: 60_000 }, (_, n) => `"${n}":0`).join());
  yield { to, what: 'a long type', body: JSON.stringify({ type: 'a'.repeat(900_000) }) };
  yield {
    to,
    what: 'audio that is none',
    body: JSON.stringify({ type: 'input_audio_buffer.append', audio: '!'.repeat(900_000) }),
  };
}

export function* batchAttacks(): Generator<LargeRequest> {
  const to = '/v1/batches';
  const line = (n: number, messages: string): string =>
    `{"custom_id":"${n}","method":"POST","url":"/v1/chat/completions",` +
    `"body":{"model":"${MODEL}","max_tokens":1,"messages":${messages}}}\n`;
  yield {
    to,
    what: '3 lines of 1.2 MB of numbers',
    body: [0, 1, 2].map((n) => line(n, ofNumbers(1_200_000))).join(''),
  };
  yield {
    to,
    what: '6 lines of 4 MB of numbers',
    body: Array.from({ length: 6 }, (_, n) => line(n, ofNumbers(4_190_000))).join(''),
  };
  yield { to, what: '10 lines of objects', body: Array.from({ length: 10 }, (_, n) => line(n, ofObjects)).join('') };
  yield {
    to,
    what: '49,000 small lines and a mistake',
    body: `${Array.from({ length: 49_000 }, (_, n) => line(n, HELLO)).join('')}{}\n`,
  };
  yield { to, what: '8 MB of empty lines', body: `${'\n'.repeat(8_000_000)}{}\n` };
  yield { to, what: '16 MB without a line', body: 'a'.repeat(16_000_000) };
}
