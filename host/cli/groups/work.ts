import { type Command, InvalidArgumentError, Option } from 'commander';
import { addApplicationOptions, applicationOf } from '../application-options.ts';
import { listEndpoints } from '../commands/work/endpoints.ts';
import { DELIVERY_STATUSES } from '../../data/storage/delivery-status.ts';
import { TASK_STATUSES } from '../../data/storage/task-state.ts';
import { changeTasks, listTasks, showTask, type TaskSearch } from '../commands/work/tasks.ts';
import {
  changeWebhook,
  type DeliverySearch,
  listDeliveries,
  listWebhooks,
  replayDeliveries,
} from '../commands/work/webhooks.ts';
import type { MakeCommand } from '../program.ts';

type Options = Readonly<Record<string, unknown>>;

/** Adds the commands for the endpoints, tasks and webhooks of all users of the running application. */
export function addWorkCommands(root: Command, command: MakeCommand, state: { exitCode: number }): void {
  const add = (name: string): Command => addApplicationOptions(command(root, name)).option('--json', 'print JSON');
  const run = async (work: Promise<number>): Promise<void> => void (state.exitCode = await work);
  add('endpoints').action((options: Options) => run(listEndpoints(applicationOf(options), options['json'] === true)));
  addTasks(add, command, run);
  addWebhooks(add, command, run);
}

type Add = (name: string) => Command;
type Run = (work: Promise<number>) => Promise<void>;

function addTasks(add: Add, command: MakeCommand, run: Run): void {
  const tasks = paged(
    add('tasks')
      .addOption(new Option('--status <status>', 'list only tasks of this status').choices(TASK_STATUSES))
      .option('--endpoint <path>', 'list only tasks of this endpoint')
      .option('--user <id>', 'list only tasks of this user')
      .option('--error <name>', 'list only tasks that failed with this error'),
  ).action((options: Options) => {
    const { status, endpoint, user, error } = options as { status?: TaskSearch['status'] } & Record<string, string>;
    const search = { status, endpoint, user_id: user, error, ...pageOf(options) };
    return run(listTasks(applicationOf(options), search, options['json'] === true));
  });
  command(tasks, 'show <task_id>', 'print a task and its attempts').action(
    (id: string, _own: Options, self: Command) => {
      const options = self.optsWithGlobals();
      return run(showTask(applicationOf(options), id, options['json'] === true));
    },
  );
  for (const [name, description] of [
    ['cancel', 'end tasks that wait or run'],
    ['retry', 'give failed tasks new attempts'],
    ['remove', 'remove tasks that no host runs'],
  ] as const)
    command(tasks, `${name} <task_ids...>`, description).action((ids: string[], _own: Options, self: Command) =>
      run(changeTasks(applicationOf(self.optsWithGlobals()), name, ids)),
    );
}

function addWebhooks(add: Add, command: MakeCommand, run: Run): void {
  const webhooks = add('webhooks')
    .option('--user <id>', 'list only webhooks of this user')
    .action((options: Options) =>
      run(listWebhooks(applicationOf(options), options['user'] as string | undefined, options['json'] === true)),
    );
  paged(
    command(webhooks, 'deliveries <webhook_id>', 'print the newest deliveries of a webhook').addOption(
      new Option('--status <status>', 'print only deliveries of this status').choices(DELIVERY_STATUSES),
    ),
  ).action((id: string, own: Options, self: Command) => {
    const options = self.optsWithGlobals();
    const search = { status: own['status'] as DeliverySearch['status'], ...pageOf(own) };
    return run(listDeliveries(applicationOf(options), id, search, options['json'] === true));
  });
  command(webhooks, 'replay <webhook_id> <delivery_ids...>', 'send deliveries of a webhook once more').action(
    (id: string, deliveryIds: string[], _own: Options, self: Command) =>
      run(replayDeliveries(applicationOf(self.optsWithGlobals()), id, deliveryIds)),
  );
  command(webhooks, 'enable <webhook_id>', 'enable a webhook, and send its waiting deliveries').action(
    (id: string, _own: Options, self: Command) =>
      run(changeWebhook(applicationOf(self.optsWithGlobals()), 'enable', id)),
  );
  command(webhooks, 'remove <webhook_id>', 'remove a webhook and its waiting deliveries').action(
    (id: string, _own: Options, self: Command) =>
      run(changeWebhook(applicationOf(self.optsWithGlobals()), 'remove', id)),
  );
}

function paged(command: Command): Command {
  return command
    .option('-n, --lines <number>', 'most lines', numberOf(1000), 50)
    .option('--page <number>', 'page of the list, from 1', numberOf(1_000_000), 1);
}

function pageOf(options: Options): { page: number; per_page: number } {
  return { page: options['page'] as number, per_page: options['lines'] as number };
}

/** Returns a parser of a number from 1 to `most`. */
function numberOf(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,7}$/.test(text) || value < 1 || value > most)
      throw new InvalidArgumentError(`Expected a number from 1 to ${most}.`);
    return value;
  };
}
