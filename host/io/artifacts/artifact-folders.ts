/** The environment variable of a replica with the folder of the artifacts of requests: decoded audio and uploads. */
export const ARTIFACTS_DIR = 'AANA_ARTIFACTS_DIR';

/** The environment variable of a replica with the folder of the uploads of deferred requests. */
export const TASK_FILES_DIR = 'AANA_TASK_FILES_DIR';

/** Returns the folders in which a process with this environment finds artifacts. */
export function artifactFolders(env: Readonly<Record<string, string | undefined>>): string[] {
  return [env[ARTIFACTS_DIR], env[TASK_FILES_DIR]].filter(
    (folder): folder is string => folder !== undefined && folder !== '',
  );
}
