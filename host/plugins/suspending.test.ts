import { conformance } from './fixtures/conformance-suite.ts';

conformance('suspending');
