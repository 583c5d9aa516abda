import { assemblyScriptGuest, installCompiler } from '../fixtures/assemblyscript/guest.ts';
import { conformance } from '../fixtures/conformance-suite.ts';

const guest = assemblyScriptGuest(await installCompiler());
conformance(guest);
