import { attacks, typescriptAttacker } from '../fixtures/attack-suite.ts';

attacks(typescriptAttacker);
