import { once } from 'node:events';
import { tmpdir } from 'node:os';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readBody } from './request-body.ts';

const MB = 1024 * 1024;
const limits = {
  max_json_bytes: MB,
  max_json_depth: 10,
  max_json_elements: 1000,
  max_files: 1,
  max_file_bytes: MB,
  max_body_bytes: 8 * MB,
};

const Body = suite('the body of a request');

Body('lets others be answered between counting and parsing a large JSON', async () => {
  let turn = 0;
  const turns: { counted?: number; parsed?: number } = {};
  /** The count asks for each key. */
  class Keys extends Set<string> {
    override has(key: string): boolean {
      turns.counted = turn;
      return super.has(key);
    }
  }
  const { parse } = JSON;
  const app = new Koa();
  app.use(async (ctx) => {
    await using body = await readBody(ctx, limits, tmpdir(), undefined, { bytes: 3 * MB, keys: new Keys(['url']) });
    ctx.body = { length: (body.input as { url: string }).url.length };
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  try {
    const body = JSON.stringify({ url: 'A'.repeat(2 * MB) });
    const form = new FormData();
    form.set('body', body);
    const json = { headers: { 'content-type': 'application/json' }, body };
    count();
    JSON.parse = (...given: Parameters<typeof parse>) => {
      if (given[0].startsWith('{"url"')) turns.parsed = turn;
      return parse(...given) as unknown;
    };
    for (const given of [json, { body: form }]) {
      delete turns.parsed;
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const answer = await fetch(url, { method: 'POST', ...given });
      assert.equal(await answer.json(), { length: 2 * MB });
      assert.ok(turns.parsed! > turns.counted!, JSON.stringify(turns));
    }
  } finally {
    JSON.parse = parse;
    isOver = true;
    server.close();
  }
});

Body.run();
