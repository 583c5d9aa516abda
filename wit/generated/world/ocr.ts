// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { Image } from './media.ts';

/** A place in an image, in pixels. */
export interface Point {
  /** From the left. */
  readonly x: number;
  /** From the top. */
  readonly y: number;
}

/** The corners of a text as they lie in the image. */
export interface TextBox {
  readonly topLeft: Point;
  readonly topRight: Point;
  readonly bottomRight: Point;
  readonly bottomLeft: Point;
}

export interface Line {
  readonly text: string;
  /** 0 to 1. */
  readonly confidence: number;
  readonly box: TextBox;
  /** The direction of reading in degrees, above -180 and at most 180: 0 to the right, 90 downwards. */
  readonly angle: number;
}

export interface Page {
  /** In the order of reading. */
  readonly lines: readonly Line[];
}

/** The interface `ocr` as a guest sees it. A function that fails throws the record `error`. */
export interface Ocr {
  /** Finds and reads the texts of at most 64 images. Returns a page for each image, in their order. */
  recognize(deployment: string, images: readonly Image[]): readonly Page[];
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface OcrCalls {
  'ocr.recognize': { readonly args: readonly [deployment: string, images: readonly number[]];
    readonly value: readonly Page[] };
}
