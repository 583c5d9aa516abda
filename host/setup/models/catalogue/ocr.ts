import type { CatalogueEntry } from './types.ts';

/** A wheel that contains the networks of PaddleOCR in ONNX form. It is only unpacked. */
const rapidOcr = {
  registry: 'pypi',
  name: 'rapidocr-onnxruntime',
  version: '1.4.4',
  integrity: '971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf',
  bytes: 14_915_192,
} as const;

interface Network {
  readonly name: string;
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

const network = ({ name, file, bytes, sha256 }: Network): CatalogueEntry => ({
  id: `${name}:f32`,
  name,
  variant: 'f32',
  isDefault: true,
  aliases: [],
  kind: 'onnx',
  fileName: file,
  bytes,
  sha256,
  licence: 'Apache-2.0',
  sources: [{ from: 'package', parts: [{ package: rapidOcr, members: [`rapidocr_onnxruntime/models/${file}`] }] }],
});

/** Networks of PaddleOCR: texts of Chinese and English, and of other languages in Latin letters. */
export const ocrEntries: readonly CatalogueEntry[] = [
  network({
    name: 'pp-ocrv4-detection',
    file: 'ch_PP-OCRv4_det_infer.onnx',
    bytes: 4_745_517,
    sha256: 'd2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9',
  }),
  network({
    name: 'pp-ocrv4-recognition',
    file: 'ch_PP-OCRv4_rec_infer.onnx',
    bytes: 10_857_958,
    sha256: '48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b',
  }),
  network({
    name: 'pp-ocr-orientation',
    file: 'ch_ppocr_mobile_v2.0_cls_infer.onnx',
    bytes: 585_532,
    sha256: 'e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c',
  }),
];
