import { attacks, typescriptAttacker } from '../fixtures/attack-suite.ts';

attacks('suspending', typescriptAttacker);
attacks('blocking', typescriptAttacker);
