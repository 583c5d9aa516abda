/**
 * - `registered`: the options are checked, nothing runs
 * - `starting`: the model is fetched, or the first replicas load
 * - `serving`: it takes calls; replicas are restarted and scaled automatically
 * - `changing`: like `serving`, while it is scaled, updated or reconfigured
 * - `failed`: the start failed, or all replicas were given up
 * - `unloading`: it finishes its last calls, and can be loaded again
 * - `unloaded`: nothing runs, and calls are refused
 * - `removing`: it finishes its last calls
 * - `gone`: it has been removed
 */
export type DeploymentState =
  | 'registered'
  | 'starting'
  | 'serving'
  | 'changing'
  | 'failed'
  | 'unloading'
  | 'unloaded'
  | 'removing'
  | 'gone';

/**
 * `fail`: the deployment does not recover by itself. `skip`: it is not started with the others. `change` and `changed`:
 * a change begins and ends, also one that was rolled back.
 */
export type DeploymentEvent =
  | 'start'
  | 'skip'
  | 'started'
  | 'fail'
  | 'change'
  | 'changed'
  | 'unload'
  | 'unloaded'
  | 'remove'
  | 'removed';

const TRANSITIONS: Readonly<Record<DeploymentState, Readonly<Partial<Record<DeploymentEvent, DeploymentState>>>>> = {
  registered: { start: 'starting', skip: 'unloaded', remove: 'removing' },
  starting: { started: 'serving', fail: 'failed', remove: 'removing' },
  serving: { change: 'changing', fail: 'failed', unload: 'unloading', remove: 'removing' },
  changing: { changed: 'serving', remove: 'removing' },
  failed: { start: 'starting', change: 'changing', unload: 'unloading', remove: 'removing' },
  unloading: { unloaded: 'unloaded', remove: 'removing' },
  unloaded: { start: 'starting', remove: 'removing' },
  removing: { removed: 'gone' },
  gone: {},
};

/**
 * Returns the state after `event`, or undefined when the event is invalid in `state`, such as `change` in `changing`.
 */
export function nextDeploymentState(state: DeploymentState, event: DeploymentEvent): DeploymentState | undefined {
  return TRANSITIONS[state][event];
}
