// `npm run campaign:soak [-- minutes [seed]]`: mixed load on a real application, and the slope of the memory of its
// host after forced collections, with V8's machine code apart. Prints each rest and the result as JSON. Ends with
// status 1 if the memory without machine code grows by a megabyte an hour or more, or if something is left over.
import { testEnvironment } from '../../environment.ts';
import { type Rest, soak } from './soak.ts';

/** In a shorter run, the noise of a rest is larger than the slope. */
const FEWEST_MINUTES_FOR_SLOPE = 30;
const MOST_MEGABYTES_PER_HOUR = 1;

const megabytes = (bytes: number): number => Math.round(bytes / 1e4) / 100;
const print = (report: object): boolean => process.stdout.write(`${JSON.stringify(report)}\n`);
const readable = ({ heapUsed, code, external, rss, childrenRss, ...rest }: Rest): object => ({
  ...rest,
  heapUsedMb: megabytes(heapUsed),
  codeMb: megabytes(code),
  externalMb: megabytes(external),
  rssMb: megabytes(rss),
  childrenRssMb: megabytes(childrenRss),
});

Object.assign(process.env, await testEnvironment(process.env));
const [minutes = 2, seed = Math.floor(Math.random() * 2 ** 31)] = process.argv.slice(2).map(Number);
const { rests, requests, deliveries, heldPerHour, codePerHour, rssPerHour, problems } = await soak({
  seconds: minutes * 60,
  every: Math.min(60, minutes * 6),
  warmUp: minutes * 20,
  clients: 4,
  pauseMs: 200,
  seed,
  tell: (rest) => print(readable(rest)),
});
const slopes = [heldPerHour, codePerHour, rssPerHour].map(({ slope, error }) => ({
  megabytesPerHour: megabytes(slope),
  standardError: megabytes(error),
}));
const grows =
  minutes >= FEWEST_MINUTES_FOR_SLOPE && megabytes(heldPerHour.slope) >= MOST_MEGABYTES_PER_HOUR
    ? [`the memory of the host grows by ${megabytes(heldPerHour.slope)} MB an hour`]
    : [];
print({
  minutes,
  seed,
  node: process.version,
  requests,
  deliveries,
  held: slopes[0],
  code: slopes[1],
  rss: slopes[2],
  last: rests.slice(-1).map(readable)[0],
  problems: [...problems, ...grows],
});
if (problems.length + grows.length > 0) process.exitCode = 1;
