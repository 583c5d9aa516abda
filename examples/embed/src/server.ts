// A shop with a server of its own, which has the host in its process: some routes are the shop's, the others are the
// host's.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AanaApp, loadConfig, z } from 'aana-host';
import { SentimentConfig, SentimentDeployment } from './sentiment-deployment.ts';

const REVIEWS = ['Lovely socks, warm and not too tight.', 'They came late and one was worn.', 'Two socks.'];

const config = loadConfig({ base: { name: 'shop' } });
const app = new AanaApp({ config });
app.registerDeployment(
  'sentiment_deployment',
  SentimentDeployment.options({
    num_replicas: 2,
    user_config: new SentimentConfig({ positive: ['lovely', 'warm', 'soft', 'great'] }),
  }),
);
const sentiment = app.handle(SentimentDeployment, 'sentiment_deployment');

const input = z.strictObject({ text: z.string().min(1).describe('What somebody wrote.') });
const { classify, classify_sentences } = SentimentDeployment.methods;

app.registerEndpoint({
  name: 'sentiment',
  path: '/text/sentiment',
  summary: 'How somebody feels',
  input,
  output: classify.output,
  run: ({ text }, { signal, requestId }) => sentiment.classify({ text }, { signal, requestId }),
});

app.registerEndpoint({
  name: 'sentiment_stream',
  path: '/text/sentiment_stream',
  summary: 'How somebody feels, sentence by sentence',
  input,
  output: classify_sentences.output,
  run: async function* ({ text }, { signal, requestId }) {
    yield* sentiment.classify_sentences({ text }, { signal, requestId });
  },
});

/** `GET /reviews` of the shop: code of one's own calls the deployment too. */
async function reviews(): Promise<unknown> {
  return Promise.all(REVIEWS.map(async (text) => ({ text, ...(await sentiment.classify({ text })) })));
}

const host = app.callback();
const server = createServer((request, response) => {
  if (request.method !== 'GET' || request.url !== '/reviews') {
    host(request, response);
    return;
  }
  reviews().then(
    (found) => response.setHeader('content-type', 'application/json').end(JSON.stringify(found)),
    (error: Error) => response.writeHead(503).end(error.message),
  );
});

server.listen(config.port, config.host);
await app.deploy(); // until then the host answers 503
console.log(`the shop is open at http://${config.host}:${(server.address() as AddressInfo).port}`);

async function close(): Promise<void> {
  server.close();
  server.closeIdleConnections();
  await app.shutdown(); // running requests finish; replicas end
}
process.once('SIGTERM', () => void close());
process.once('SIGINT', () => void close());
