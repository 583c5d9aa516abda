import { capabilitiesConformance } from './fixtures/capabilities-suite.ts';

capabilitiesConformance('suspending');
