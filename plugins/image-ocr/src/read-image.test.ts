import type { OcrOutput } from 'aana-host/plugin';
import { type FakeHost, runEndpoint } from 'aana-host/plugin/testing';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endpoint } from './index.ts';

const page: OcrOutput = {
  lines: [
    {
      text: 'The water cycle',
      confidence: 0.98,
      box: [
        [40, 35],
        [302, 35],
        [302, 71],
        [40, 71],
      ],
      angle: 0,
    },
  ],
};

const Read = suite('read_image');

Read('answers with the lines that the usual deployment finds in the image', async () => {
  const sources: unknown[] = [];
  const images: unknown[] = [];
  const fakes: FakeHost = {
    image: (source) => (sources.push(source), { width: 5, height: 4 }),
    deployments: { ocr_deployment: { recognize: ({ image }: { image: unknown }) => (images.push(image), page) } },
  };
  const { output } = await runEndpoint(endpoint, 'read_image', { image: { content: 'slide', media_id: 'm-1' } }, fakes);
  assert.equal(output, page);
  assert.equal(sources, [{ content: 'slide', mediaId: 'm-1' }]);
  assert.equal(images, [{ width: 5, height: 4, format: 'png' }]);
});

Read.run();
