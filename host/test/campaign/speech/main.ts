// `npm run campaign:speech [-- requests [seed]]`: transcriptions and live streams whose callers leave at random
// moments. `npm run campaign:speech -- long [hours [minutes [stream|whole]]]`: the memory of a replica while it
// transcribes a long audio, for the given minutes, with an answer in segments or in one. Ends with status 1 if
// something is wrong.
import { testEnvironment } from '../../environment.ts';
import { measureLongAudio } from './long-audio.ts';
import { soakSpeech } from './soak.ts';

const megabytes = (bytes: number): number => Math.round(bytes / 1e5) / 10;
const print = (report: object): boolean => process.stdout.write(`${JSON.stringify(report)}\n`);

Object.assign(process.env, await testEnvironment(process.env));
const args = process.argv.slice(2);
if (args[0] === 'long') {
  const [hours = 4, minutes = 10] = args.slice(1, 3).map(Number);
  const answer = args[3] === 'whole' ? 'whole' : 'stream';
  const { idleBytes, shortPeakBytes, peakBytes, done } = await measureLongAudio(hours, minutes, answer);
  const [idleMb, shortPeakMb, peakMb] = [idleBytes, shortPeakBytes, peakBytes].map(megabytes);
  print({ hours, minutes, answer, done, idleMb, shortPeakMb, peakMb });
} else {
  const [count = 500, seed = Math.floor(Math.random() * 2 ** 31)] = args.map(Number);
  const { residentBytes, ...report } = await soakSpeech(count, seed);
  print({ seed, ...report, megabytes: residentBytes.map(megabytes) });
  if (report.problems.length > 0) process.exitCode = 1;
}
