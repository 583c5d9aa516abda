// The host with an endpoint that receives files and returns their size. Started by ./measure.ts.
import * as z from 'zod';
import { loadConfig } from '../../base/config/index.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { EndpointRegistry, hostEndpoint } from '../../endpoints/registry/index.ts';
import { FILE_REFERENCE } from '../../base/schemas/index.ts';
import { listen } from '../plugins/listen.ts';
import { served } from '../plugins/served.ts';

const registry = new EndpointRegistry();
registry.add(
  hostEndpoint({
    name: 'upload',
    path: '/upload',
    summary: 'For the benchmark',
    input: z.strictObject({ file: z.string().meta({ [FILE_REFERENCE]: true }) }),
    output: z.strictObject({ bytes: z.int() }),
    run: async ({ file }, { files }) => ({ bytes: files.get(file)?.bytes ?? -1 }),
  }),
);
const { server, port } = await listen(
  registry,
  loadConfig({ base: { limits: { max_body_bytes: 2 ** 40, max_file_bytes: 2 ** 40 } } }),
  silentLogger,
);
served({ port, close: async () => server.destroy() });
