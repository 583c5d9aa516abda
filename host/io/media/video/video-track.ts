import type { Size } from '../image/size.ts';

/** A track of pictures, as ffmpeg describes it. */
export interface VideoTrack {
  /** Number among all tracks of the file, from 0 on. */
  readonly stream: number;
  readonly codec: string;
  /** As the file says it, such as `eng`. */
  readonly language?: string;
  readonly isDefault: boolean;
  /** Pixels as a player shows them: square, and turned as the file says. Missing if the file does not say them. */
  readonly size?: Size;
  /** Frames in a second on average. Missing if the file does not say it. */
  readonly frameRate?: number;
  readonly isInterlaced: boolean;
  /** Whether its brightness is that of HDR (PQ or HLG), which screens and models do not understand. */
  readonly isHdr: boolean;
  /** Of HDR: the usual colours in place of those that the file does not say, as options of ffmpeg's `setparams`. */
  readonly unsaidColours: readonly string[];
}

/**
 * Reads what follows `Stream #0:0: Video: ` in the description, such as `h264 (High), yuv420p(tv, bt709, top first),
 * 720x576 [SAR 64:45 DAR 16:9], 25 fps, …`. `block` has the lines about the stream that follow.
 */
export function parseVideoTrack(
  stream: number,
  language: string | undefined,
  details: string,
  block: string,
): VideoTrack {
  const [, width, height] = /, (\d+)x(\d+)\b/.exec(details) ?? [];
  const [, across, down] = /\bSAR (\d+):(\d+)/.exec(details) ?? [];
  const [, turned] = /^ {6,}display ?matrix: rotation of (-?[\d.]+) degrees/im.exec(block) ?? [];
  const size = shownSize(Number(width), Number(height), Number(across) / Number(down), Number(turned ?? 0));
  const frameRate = parseRate(details);
  const [, matrix, primaries, hdr] = /([\w-]+)\/([\w-]+)\/(smpte2084|arib-std-b67)\b/.exec(details) ?? [];
  return {
    ...{ stream, codec: /^\w+/.exec(details)?.[0] ?? 'unknown' },
    ...{ isDefault: details.includes('(default)'), isInterlaced: /\b(?:top|bottom)\b[^,()]* first\b/.test(details) },
    isHdr: hdr !== undefined,
    unsaidColours: [
      ...(matrix === 'unknown' ? ['colorspace=bt2020nc'] : []),
      ...(primaries === 'unknown' ? ['color_primaries=bt2020'] : []),
    ],
    ...(language !== undefined && { language }),
    ...(size && { size }),
    ...(frameRate !== undefined && { frameRate }),
  };
}

function shownSize(width: number, height: number, aspect: number, turned: number): Size | undefined {
  if (!(width > 0 && height > 0)) return undefined;
  const isUseful = Number.isFinite(aspect) && aspect > 0.01 && aspect < 100;
  const square = { width: Math.max(1, Math.round(isUseful ? width * aspect : width)), height };
  const isOnItsSide = Math.abs(Math.round(turned / 90)) % 2 === 1;
  return isOnItsSide ? { width: square.height, height: square.width } : square;
}

/** Reads `29.97 fps` or `1k fps`. */
function parseRate(details: string): number | undefined {
  const [, value, thousands] = /, ([\d.]+)(k?) fps\b/.exec(details) ?? [];
  const rate = Number(value) * (thousands ? 1000 : 1);
  return rate > 0 ? rate : undefined;
}

/** Returns the track that a player shows: the one that the file marks as default, or the first one. */
export function shownTrack(tracks: readonly VideoTrack[]): VideoTrack | undefined {
  return tracks.find(({ isDefault }) => isDefault) ?? tracks[0];
}
