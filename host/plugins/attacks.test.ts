import { attacks } from './fixtures/attack-suite.ts';

attacks('suspending');
attacks('blocking');
