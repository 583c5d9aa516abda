import { assemblyScriptAttacker, installCompiler } from '../fixtures/assemblyscript/guest.ts';
import { attacks } from '../fixtures/attack-suite.ts';

const attacker = assemblyScriptAttacker(await installCompiler());
attacks(attacker);
