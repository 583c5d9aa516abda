// Runs before any schema is created. In the sandbox's interpreter, generating code for a schema costs more than it
// saves. All copies of zod read this object, and a component without schemas contains no zod.
const shared = globalThis as { __zod_globalConfig?: { jitless?: boolean } };
(shared.__zod_globalConfig ??= {}).jitless = true;
