import * as z from 'zod/mini';
import { Artifact } from './artifact.ts';

const side = (what: string): z.ZodMiniNumber =>
  z.int().check(z.minimum(1), z.maximum(32_768), z.describe(`${what} in pixels.`));

/** An image as an argument of `chat`: the red, green and blue of each pixel, row by row from the top, as a file. */
export const ImageReference = z
  .strictObject({ pixels: Artifact, width: side('Width'), height: side('Height') })
  .check(
    z.refine(
      ({ pixels, width, height }) => pixels.bytes === 3 * width * height,
      'pixels must have three bytes for each pixel.',
    ),
  );
export type ImageReference = z.infer<typeof ImageReference>;

/** Channels of a decoded media. */
const MAX_CHANNELS = 64;

/**
 * Decoded audio for a replica, in files, so that samples never cross a socket. Each channel is one artifact of raw
 * little-endian 32-bit floats in [−1, 1], mono, 16 kHz. A media without an audio track has no channels, or artifacts of
 * 0 bytes.
 */
export const AudioReference = z.strictObject({
  channels: z
    .array(z.strictObject({ artifact: Artifact, samples: z.int().check(z.minimum(0)) }))
    .check(z.maxLength(MAX_CHANNELS)),
  sample_rate: z.literal(16000),
});
export type AudioReference = z.infer<typeof AudioReference>;
