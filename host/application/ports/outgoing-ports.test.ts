import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../base/config/index.ts';
import { httpPort, networkFrom } from './outgoing-ports.ts';

const Requests = suite('the requests of plugins');

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const OWN = '00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00f067aa0ba902b7-01';

Requests(
  'have the place in the trace only for hosts that the operator names, and after no redirect to others',
  async () => {
    const seen: IncomingHttpHeaders[] = [];
    const servers = [0, 1].map(() =>
      createServer((request, response) => {
        seen.push(request.headers);
        if (request.url === '/away') response.writeHead(307, { location: `${there}/` });
        response.end();
      }),
    );
    await Promise.all(servers.map((server) => once(server.listen(0, '127.0.0.1'), 'listening')));
    const [here, there] = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const traceparentsOf = async (
      hosts: string,
      url: string,
      headers: [string, string][] = [],
    ): Promise<(string | undefined)[]> => {
      const config = loadConfig({
        cwd: '/',
        env: { AANA_TRACES_PROPAGATE_TO: hosts, AANA_ALLOW_PRIVATE_URLS: 'true' },
      });
      const signal = AbortSignal.timeout(20_000);
      const options = { refusalOf: () => undefined, isNamed: () => false, signal, traceparent };
      await httpPort(config, networkFrom(config)).fetch({ method: 'get', url, headers }, options);
      return seen.splice(0).map((one) => one['traceparent'] as string | undefined);
    };
    try {
      assert.equal(await traceparentsOf('', `${here}/`), [undefined]);
      assert.equal(await traceparentsOf('example.org,localhost', `${here}/`), [undefined]);
      assert.equal(await traceparentsOf('example.org,127.0.0.1', `${here}/`), [traceparent]);
      assert.equal(await traceparentsOf('*.0.0.1', `${here}/`), [traceparent]);
      assert.equal(await traceparentsOf('*.127.0.0.1', `${here}/`), [undefined]);
      assert.equal(await traceparentsOf('127.0.0.1', `${here}/away`), [traceparent, undefined]);
      assert.equal(await traceparentsOf('127.0.0.1', `${here}/`, [['Traceparent', OWN]]), [OWN]);
    } finally {
      for (const server of servers) server.close();
    }
  },
);

Requests.run();
