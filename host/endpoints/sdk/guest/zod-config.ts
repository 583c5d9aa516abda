// Runs before any schema is created. In the sandbox's interpreter, generating code for a schema costs more than it
// saves. Copies of zod of this package's version read this object. A component without schemas contains no zod.
const shared = globalThis as { __zod_globalConfig?: { jitless?: boolean } };
(shared.__zod_globalConfig ??= {}).jitless = true;
