// `npm run fuzz:sockets -- [sequences] [first seed]`: sends random sequences of pipelined requests, upgrades, and what
// is not HTTP to real servers, and checks that each answer belongs to its request.
import { fuzzSockets } from './fuzz-sockets.ts';

const [sequences, seed] = [Number(process.argv[2] ?? 100_000), Number(process.argv[3] ?? 1)];
if (!Number.isInteger(sequences) || !Number.isInteger(seed)) {
  process.stderr.write('usage: npm run fuzz:sockets -- [sequences] [first seed]\n');
  process.exit(2);
}
const startedAt = performance.now();
const { complaints, mostListeners } = await fuzzSockets({
  sequences,
  seed,
  onProgress: (done) => {
    if (done % 10_000 === 0)
      process.stdout.write(`${done} sequences, ${Math.round((performance.now() - startedAt) / 1000)} s\n`);
  },
});
for (const complaint of complaints) process.stdout.write(`${complaint}\n`);
process.stdout.write(
  `${sequences} sequences from seed ${seed}, ${complaints.length} complaints, at most ${mostListeners} listeners on ` +
    `a connection\n`,
);
process.exitCode = complaints.length === 0 ? 0 : 1;
