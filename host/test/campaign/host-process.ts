// A host of two replicas. At the moment given by the first argument it prints the pids of its processes as JSON. Then
// it ends in the way given by the second argument.
import { until } from '../../inference/replicas/fixtures/sample-sets.ts';
import type { End, Moment } from './host-ends.ts';
import { pidsOf, sampleHost } from './sample-host.ts';

const [moment, end] = process.argv.slice(2) as [Moment, End];
const manager = sampleHost({ one: { num_replicas: 2 } });
if (moment === 'while it starts') {
  manager.register('slow', { type: 'SampleDeployment', user_config: { start: 'hang' } });
  void manager.start();
  await until(
    () =>
      pidsOf(manager, 'slow').length === 1 &&
      manager.status()['one']?.replicas.every(({ state }) => state === 'ready') === true,
    'the slow one started',
  );
} else {
  await manager.start();
}
if (moment === 'during an update') {
  void manager.update('one', { type: 'SampleDeployment', num_replicas: 2, user_config: { start: 'hang' } });
  await until(() => pidsOf(manager, 'one').length === 3, 'the new replica was there');
}
if (end === 'SIGTERM, in good order')
  process.on('SIGTERM', () => void manager.shutdown({ graceMs: 1000 }).then(() => process.exit(0)));
process.stdout.write(`${JSON.stringify([...pidsOf(manager, 'one'), ...pidsOf(manager, 'slow')])}\n`);
if (end === 'uncaught exception') {
  setTimeout(() => {
    throw new Error('nobody catches this');
  });
}
if (end === 'abort') setTimeout(() => process.abort());
if (end === 'exit') setTimeout(() => process.exit(3));
setInterval(() => {}, 1000);
