// A shop with its own server and the host in the same process. Some routes are the shop's; the others are the host's.
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

const input = z.strictObject({ text: z.string().min(1).describe('The text to classify.') });
const { classify, classify_sentences } = SentimentDeployment.methods;

app.registerEndpoint({
  name: 'sentiment',
  path: '/text/sentiment',
  summary: 'The sentiment of a text',
  input,
  output: classify.output,
  run: ({ text }, { signal, requestId }) => sentiment.classify({ text }, { signal, requestId }),
});

app.registerEndpoint({
  name: 'sentiment_stream',
  path: '/text/sentiment_stream',
  summary: 'The sentiment of a text, sentence by sentence',
  input,
  output: classify_sentences.output,
  run: async function* ({ text }, { signal, requestId }) {
    yield* sentiment.classify_sentences({ text }, { signal, requestId });
  },
});

/** Answers `GET /reviews` of the shop. Code of the shop can call the deployment too. */
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
await app.deploy(); // the host answers 503 until the deployment is ready
console.log(`the shop is open at http://${config.host}:${(server.address() as AddressInfo).port}`);

async function close(): Promise<void> {
  server.close();
  server.closeIdleConnections();
  await app.shutdown(); // waits for running requests, then ends the replicas
}
process.once('SIGTERM', () => void close());
process.once('SIGINT', () => void close());
