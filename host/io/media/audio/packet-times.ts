/** A longer jump of the times is an error in the file, or a new recording. What follows is joined to what is before. */
const LONGEST_SILENCE_S = 3600;
/** Times that go back further are those of a new recording, joined to the one before. */
const LONGEST_OVERLAP_S = 1;

/**
 * Returns the filters of ffmpeg that put mono audio of `rate` Hz where its packets say, with silence where there are
 * none. Time 0 is `start`, which is the start of the file: what a player shows as 0. The packets must have their own
 * times (`-copyts`): without it ffmpeg moves tracks of MPEG-TS, whose times it takes from the track alone.
 *
 * No sample is left out. Audio that overlaps follows the audio before it; `aresample` would cut it off. ffmpeg holds a
 * silence in memory, 0.1 MB for each second, so it is limited.
 */
export function atPacketTimes(start: number, rate: number): string {
  // Variables of the expression, in samples: 0 is the end of the audio so far, 1 is added to the times of packets, 2 is
  // the time of this frame.
  const time = [
    `st(2,if(isnan(PTS),ld(0),PTS-${Math.round(start * rate)}+ld(1)))`,
    `if(between(ld(2),ld(0)-${LONGEST_OVERLAP_S * rate},ld(0)+${LONGEST_SILENCE_S * rate}),0,` +
      `(st(1,ld(1)+ld(0)-ld(2));st(2,ld(0))))`,
    'st(2,max(ld(2),ld(0)))',
    'st(0,ld(2)+NB_SAMPLES)',
    'ld(2)',
  ].join(';');
  return `asetpts='${time}',aresample=async=1:first_pts=0`;
}
