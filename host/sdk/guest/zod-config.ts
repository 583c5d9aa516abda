import * as z from 'zod/mini';

// Before any schema is made: in the sandbox's interpreter, generating code for a schema costs more than it saves.
z.config({ jitless: true });
