/** A reason for which the set-up cannot continue, in one sentence for the user. */
export class SetupError extends Error {}

const LEAST_NODE = [20, 19];

/** @param {string} version such as `20.19.0` */
export function requireNode(version) {
  const [major, minor] = version.split('.').map(Number);
  if (major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1])) return;
  throw new SetupError(
    `aana-host needs Node ${LEAST_NODE.join('.')} or later; this is Node ${version}. Install a newer version ` +
      `and try again.`,
  );
}
