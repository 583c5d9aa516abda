import * as z from 'zod/mini';

/** A caption: what an image shows, in words. */
export const Caption = z.string().check(z.describe('What the image shows.'));
export type Caption = z.infer<typeof Caption>;

/** Captions of several images. */
export const CaptionsList = z.array(Caption).check(z.describe('In the order of the images.'));
export type CaptionsList = z.infer<typeof CaptionsList>;

/** The caption of an image. */
export const CaptioningOutput = z.strictObject({ caption: Caption });
export type CaptioningOutput = z.infer<typeof CaptioningOutput>;

/** The captions of several images. */
export const CaptioningBatchOutput = z.strictObject({ captions: CaptionsList });
export type CaptioningBatchOutput = z.infer<typeof CaptioningBatchOutput>;
