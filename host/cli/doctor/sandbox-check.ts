import { confinementHere, missingConfinement } from '../../endpoints/plugins/sandbox/index.ts';
import { buildToolsProblem, builtSandbox, sandboxProblem } from '../../setup/native-build/index.ts';
import { type Check, type CheckResult, fail, ok, warn } from './check.ts';

const NAME = 'plugin sandbox';

/** Whether the sandbox of plugins runs here, and what the kernel enforces for it. */
export const sandboxCheck: Check = {
  name: NAME,
  needsConfig: false,
  run: async ({ config, env, signal }) => {
    const problem = sandboxProblem();
    if (problem !== undefined) return [warn(NAME, problem, 'plugins cannot be served here')];
    const sandbox = await builtSandbox();
    if (sandbox === undefined) return [unbuilt(env)];
    return [confinementResult(await confinementHere(sandbox.program, signal), config.plugin_confinement)];
  },
};

function unbuilt(env: NodeJS.ProcessEnv): CheckResult {
  const problem = buildToolsProblem(env, ['a C++ compiler', 'cmake']);
  return problem === undefined
    ? ok(NAME, 'not built yet; the first plugin builds it')
    : warn(NAME, 'not built yet, and it cannot be built', problem);
}

/** Returns the result for what the sandbox says about this machine, under the setting `plugin_confinement`. */
export function confinementResult(
  report: Awaited<ReturnType<typeof confinementHere>>,
  wish: 'prefer' | 'require',
): CheckResult {
  if ('problem' in report)
    return fail(NAME, `does not run: ${report.problem}`, 'raise limits of this process, such as that of ulimit -v');
  const missing = missingConfinement(report);
  if (missing.length === 0)
    return ok(NAME, `runs without privileges, with seccomp, Landlock ${report.landlock} and a limit of memory`);
  const found = `runs, but the kernel offers ${missing.join(', ')}`;
  return wish === 'require'
    ? fail(NAME, found, 'plugin_confinement requires them, so plugins are refused; use another kernel')
    : warn(NAME, found, 'use a newer kernel, or let plugin_confinement require them so that plugins are refused');
}
