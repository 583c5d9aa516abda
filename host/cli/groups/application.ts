import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  applicationDashboard,
  applicationLogLevels,
  applicationLogs,
  applicationStatus,
  deploymentHistory,
  drainApplication,
  listDeployments,
  loadDeployment,
  scaleDeployment,
  stopApplication,
  unloadDeployment,
} from '../commands/application.ts';
import { applicationAlerts } from '../commands/care/alerts.ts';
import { applyConfiguration, confirmAtTerminal } from '../commands/apply.ts';
import { applicationTraces } from '../commands/traces.ts';
import {
  addApplicationOptions,
  addLocalOptions,
  applicationOf,
  onlyLocalApplicationOf,
} from '../application-options.ts';
import { configOf } from '../config-options.ts';
import { untilSignal } from '../until-signal.ts';
import { fail } from '../../base/core/errors.ts';
import { LOG_AREAS, type LogArea, type LogLevelChange } from '../../base/core/log/log-levels.ts';
import { LOG_LEVELS, type LogLevel } from '../../base/core/log/logger.ts';
import type { MakeCommand } from '../program.ts';

type Options = Readonly<Record<string, unknown>>;

/** Adds the commands for the running application. */
export function addApplicationCommands(root: Command, command: MakeCommand, state: { exitCode: number }): void {
  const add = (name: string): Command => addApplicationOptions(command(root, name));
  /** Adds a command that only the user of the application may give. */
  const addHere = (name: string): Command => addLocalOptions(command(root, name));
  const here = (options: Options) => ({ ...onlyLocalApplicationOf(options), out: process.stdout });
  add('status')
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      state.exitCode = await applicationStatus(applicationOf(options), options['json'] === true);
    });
  addHere('dashboard').action(async (options: Options) => {
    state.exitCode = await applicationDashboard(here(options));
  });
  add('scale')
    .argument('<deployment>')
    .argument('<replicas>', 'number of replicas', countOf)
    .action(async (deployment: string, replicas: number, options: Options) => {
      state.exitCode = await scaleDeployment(applicationOf(options), deployment, replicas);
    });
  const deployments = add('deployments')
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      state.exitCode = await listDeployments(applicationOf(options), options['json'] === true);
    });
  command(deployments, 'load <deployment>', 'start a deployment that was unloaded or has failed').action(
    async (deployment: string, _own: Options, self: Command) => {
      state.exitCode = await loadDeployment(applicationOf(self.optsWithGlobals()), deployment);
    },
  );
  command(deployments, 'unload <deployment>', 'end the replicas of a deployment when their calls have finished')
    .option('--grace <seconds>', 'time in which calls may finish (default: the deployment’s configuration)', secondsOf)
    .action(async (deployment: string, own: Options, self: Command) => {
      const grace = own['grace'] as number | undefined;
      state.exitCode = await unloadDeployment(applicationOf(self.optsWithGlobals()), deployment, grace);
    });
  command(deployments, 'history [deployment]', 'print the changes that operators made, also before this start')
    .option('-n, --lines <number>', 'number of latest changes', countOf, 100)
    .action(async (deployment: string | undefined, own: Options, self: Command) => {
      const options = self.optsWithGlobals();
      const query = { deployment, limit: own['lines'] as number };
      state.exitCode = await deploymentHistory(applicationOf(options), query, options['json'] === true);
    });
  add('apply')
    .argument('[file]', 'configuration file (default: that of --config, or aana.config.json in the working directory)')
    .option('--previous', 'go back to the configuration before the last one that was applied since the start')
    .option('--dry-run', 'only print what would change')
    .option('-y, --yes', 'do not ask')
    .action(async (given: string | undefined, options: Options) => {
      const file = given ?? (options['config'] as string | undefined);
      const isSure = options['yes'] === true;
      const previous = options['previous'] === true;
      if (previous && given !== undefined) throw fail('InvalidInput', 'give a file or --previous, not both');
      const wanted = { previous, dryRun: options['dryRun'] === true, ...(!isSure && { confirm: confirmAtTerminal }) };
      state.exitCode = await applyConfiguration(applicationOf(options), file, wanted);
    });
  add('logs')
    .option('-f, --follow', 'print new lines until the application ends')
    .option('--deployment <name>', 'print only lines of this deployment')
    .option('--replica <name>', 'print only lines of this replica, such as asr_deployment#1')
    .option('--worker <number>', 'print only lines of this worker; 0 is the controller', countOf)
    .addOption(new Option('--level <level>', 'print only lines of this level or above').choices(LEVELS))
    .addOption(new Option('--area <area>', 'print only lines of this area').choices(LOG_AREAS))
    .option('-n, --lines <number>', 'number of latest lines', countOf, 100)
    .action(async (options: Options) => {
      const { log } = configOf({ ...options, port: undefined, listen: undefined });
      const wanted = {
        lines: options['lines'] as number,
        follow: options['follow'] === true,
        deployment: options['deployment'] as string | undefined,
        replica: options['replica'] as string | undefined,
        worker: options['worker'] as number | undefined,
        level: options['level'] as LogLevel | undefined,
        area: options['area'] as LogArea | undefined,
        format: log.format,
      };
      state.exitCode = await untilSignal((signal) => applicationLogs(applicationOf(options), wanted, signal));
    });
  add('log-levels')
    .argument('[levels...]', '`debug` for all lines, `http=debug` for an area, `http=` for its common level again')
    .action(async (levels: string[], options: Options) => {
      state.exitCode = await applicationLogLevels(applicationOf(options), levelChangeOf(levels));
    });
  add('traces')
    .argument('[trace_id]')
    .option('--json', 'print JSON')
    .action(async (traceId: string | undefined, options: Options) => {
      state.exitCode = await applicationTraces(applicationOf(options), traceId, options['json'] === true);
    });
  add('alerts')
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      state.exitCode = await applicationAlerts(applicationOf(options), options['json'] === true);
    });
  add('drain')
    .option('--undo', 'take new requests and tasks again')
    .action(async (options: Options) => {
      const isUndone = options['undo'] === true;
      state.exitCode = await untilSignal((signal) => drainApplication(applicationOf(options), isUndone, signal));
    });
  addHere('stop')
    .option(
      '--grace <seconds>',
      'time in which requests may finish (default: the application’s configuration)',
      secondsOf,
    )
    .action(async (options: Options) => {
      state.exitCode = await stopApplication(here(options), options['grace'] as number | undefined);
    });
}

const LEVELS = Object.keys(LOG_LEVELS) as LogLevel[];

/** Returns the change that `debug`, `http=warn` and `http=` ask for. */
function levelChangeOf(texts: readonly string[]): LogLevelChange {
  const levels: Partial<Record<LogArea, LogLevel | null>> = {};
  let level: LogLevel | undefined;
  for (const text of texts) {
    const [first = '', own] = text.split('=', 2);
    if (own === undefined) level = levelNamed(first);
    else levels[areaNamed(first)] = own === '' ? null : levelNamed(own);
  }
  return { level, levels };
}

function levelNamed(text: string): LogLevel {
  const found = LEVELS.find((level) => level === text);
  if (!found) throw new InvalidArgumentError(`"${text}" is not a level; levels are ${LEVELS.join(', ')}.`);
  return found;
}

function areaNamed(text: string): LogArea {
  const found = LOG_AREAS.find((area) => area === text);
  if (!found) throw new InvalidArgumentError(`"${text}" is not an area; areas are ${LOG_AREAS.join(', ')}.`);
  return found;
}

/** Parses the value of a flag or argument that may be 0. */
function countOf(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('Expected a number from 0 to 9999.');
  return Number(text);
}

function secondsOf(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 86_400))
    throw new InvalidArgumentError('Expected seconds from 0 to 86400.');
  return value;
}
