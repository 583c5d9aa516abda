import type { OcrBatchOutput, OcrOutput } from '../../../base/schemas/index.ts';
import { Deployment } from './deployments.ts';
import type { Image } from './handles.ts';

/** Texts in images. */
export class OcrDeployment extends Deployment {
  /** Finds and reads the texts of an image, line by line in the order of reading. */
  recognize(image: Image): Promise<OcrOutput> {
    return this.call('recognize', { image });
  }

  /** Finds and reads the texts of 1 to 64 images. The list of the answer has one element for each. */
  recognizeBatch(images: readonly Image[]): Promise<OcrBatchOutput> {
    return this.call('recognize_batch', { images });
  }
}

/** The methods of the usual deployment. Called with a name, it returns that deployment. */
export type Ocr = ((deployment: string) => OcrDeployment) & Pick<OcrDeployment, 'recognize' | 'recognizeBatch'>;
