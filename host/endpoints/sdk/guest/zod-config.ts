import * as z from 'zod/mini';

// Runs before any schema is created. In the sandbox's interpreter, generating code for a schema costs more than it
// saves.
z.config({ jitless: true });
