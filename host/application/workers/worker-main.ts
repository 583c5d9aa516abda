// Main module of a worker: a further host of an application, which the controller has started.
import type { Server } from 'node:net';
import { loadApp } from '../module/load-app.ts';
import { AanaApp } from '../app.ts';
import { setLoadDefaults } from '../../base/config/index.ts';
import { toErrorRecord } from '../../base/core/errors.ts';
import { stopOnSignals } from '../start/signals.ts';
import { setWorkerRole, type ToController, type ToWorker, type WorkerRole, type WorkerStart } from './link.ts';

const tell = (message: ToController): void => void process.send?.(message, () => {}); // it may have just ended

async function start({ worker, config, control, loadDefaults, folders }: WorkerStart): Promise<void> {
  const role: WorkerRole = { worker, config, control, tell, lost: () => process.exit(1), part: undefined };
  setWorkerRole(role);
  setLoadDefaults(loadDefaults);
  process.on('message', (message: ToWorker, handle) => receive(role, message, handle as Server | undefined));
  const app = config.app === null ? new AanaApp({ config }) : (await loadApp(config.app, '.')).app;
  stopOnSignals(app);
  process.on('SIGHUP', () => {}); // the controller tells of what it reloads
  app.configure(config).registerPlugins(...folders);
  await app.deploy();
  tell({ type: 'started' });
  await app.stopped;
}

function receive({ part }: WorkerRole, message: ToWorker, handle: Server | undefined): void {
  if (!part) return;
  switch (message.type) {
    case 'settings':
      return part.apply(message);
    case 'notified':
      return part.notified(message.message);
    case 'listen':
      if (handle) part.listen(handle).catch(fail);
      return;
    case 'ask': {
      const { id, question, given } = message;
      const answer = part.answers[question] as (given: unknown) => Promise<unknown>;
      void answer(given).then(
        (value) => tell({ type: 'answer', id, value }),
        (error: unknown) => tell({ type: 'answer', id, error: toErrorRecord(error) }),
      );
      return;
    }
    case 'stop':
      return part.stop(message.graceMs);
    case 'start':
      return;
  }
}

function fail(error: unknown): void {
  process.send?.({ type: 'started', error: toErrorRecord(error) } satisfies ToController, () => process.exit(1));
}

process.once('message', (message: ToWorker) => {
  if (message.type === 'start') start(message).then(() => process.exit(0), fail);
});
process.once('disconnect', () => process.exit(1)); // the controller has ended
