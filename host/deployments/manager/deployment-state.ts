/**
 * - `registered`: its options are checked, nothing runs
 * - `starting`: its model is fetched, its first replicas load
 * - `serving`: it takes calls; its replicas come and go by themselves
 * - `changing`: the same while it is scaled, updated or given another configuration
 * - `failed`: it could not be started, or all its replicas were given up
 * - `removing`: it finishes its calls
 * - `gone`: nothing of it is left
 */
export type DeploymentState = 'registered' | 'starting' | 'serving' | 'changing' | 'failed' | 'removing' | 'gone';

/**
 * `fail`: it will not come back by itself. `change` and `changed`: the beginning and the end of one, also of one that
 * was taken back.
 */
export type DeploymentEvent = 'start' | 'started' | 'fail' | 'change' | 'changed' | 'remove' | 'removed';

const TRANSITIONS: Readonly<Record<DeploymentState, Readonly<Partial<Record<DeploymentEvent, DeploymentState>>>>> = {
  registered: { start: 'starting', remove: 'removing' },
  starting: { started: 'serving', fail: 'failed', remove: 'removing' },
  serving: { change: 'changing', fail: 'failed', remove: 'removing' },
  changing: { changed: 'serving', remove: 'removing' },
  failed: { start: 'starting', change: 'changing', remove: 'removing' },
  removing: { removed: 'gone' },
  gone: {},
};

/**
 * The state after `event`; undefined when the event means nothing in `state`, such as `change` of one that is being
 * changed.
 */
export function nextDeploymentState(state: DeploymentState, event: DeploymentEvent): DeploymentState | undefined {
  return TRANSITIONS[state][event];
}
