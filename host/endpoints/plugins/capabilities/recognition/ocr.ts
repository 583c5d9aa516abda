import type { OcrBatchOutput, OcrLine } from '../../../../base/schemas/images/ocr.ts';
import type { Line, OcrCalls, Point } from '../../../../../wit/generated/world/ocr.ts';
import { heldImages } from '../scope/held-images.ts';
import type { CallsOf } from '../scope/scope.ts';

/** The texts of images in typed records. */
export const ocrCalls: CallsOf<keyof OcrCalls> = {
  async 'ocr.recognize'(scope, deployment, handles) {
    const port = scope.deployment(deployment); // refuses before an image is decoded
    if (handles.length === 0) return [];
    const images = await heldImages(scope, handles);
    const { images: pages } = (await port.call('recognize_batch', { images }, scope.callOptions())) as OcrBatchOutput;
    const startedAt = performance.now();
    const records = pages.map(({ lines }) => ({ lines: lines.map(witLine) }));
    scope.charge(performance.now() - startedAt);
    return records;
  },
};

function witLine({ text, confidence, box, angle }: OcrLine): Line {
  const [topLeft, topRight, bottomRight, bottomLeft] = box.map(([x, y]) => ({ x, y })) as [Point, Point, Point, Point];
  return { text, confidence, box: { topLeft, topRight, bottomRight, bottomLeft }, angle };
}
