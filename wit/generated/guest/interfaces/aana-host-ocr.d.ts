// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-media.d.ts" />
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/ocr@0.1.0' {
  /**
   * Finds and reads the texts of at most 64 images. Returns a page for each image, in their order.
   */
  export function recognize(deployment: string, images: Array<Image>): Array<Page>;
  export type Error = import('aana:host/types@0.1.0').Error;
  export type Image = import('aana:host/media@0.1.0').Image;
  /**
   * A place in an image, in pixels.
   */
  export interface Point {
    /**
     * From the left.
     */
    x: number,
    /**
     * From the top.
     */
    y: number,
  }
  /**
   * The corners of a text as they lie in the image.
   */
  export interface TextBox {
    topLeft: Point,
    topRight: Point,
    bottomRight: Point,
    bottomLeft: Point,
  }
  export interface Line {
    text: string,
    /**
     * 0 to 1.
     */
    confidence: number,
    box: TextBox,
    /**
     * The direction of reading in degrees, above -180 and at most 180: 0 to the right, 90 downwards.
     */
    angle: number,
  }
  export interface Page {
    /**
     * In the order of reading.
     */
    lines: Array<Line>,
  }
}
