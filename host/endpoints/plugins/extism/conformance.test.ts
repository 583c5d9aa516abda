import { assemblyScriptGuest, installCompiler } from '../fixtures/assemblyscript/guest.ts';
import { conformance } from '../fixtures/conformance-suite.ts';

const guest = assemblyScriptGuest(await installCompiler());
conformance('suspending', guest);
conformance('blocking', guest);
