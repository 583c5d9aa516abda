import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hasEngineKernels } from './processor.ts';

const Processor = suite('instructions of the processor');

const withFlags = (flags: string) => hasEngineKernels(() => `processor\t: 0\nflags\t\t: ${flags}\n\nprocessor\t: 1\n`);

Processor('all flags of one set of kernels are needed', () => {
  for (const flags of ['fpu sse avx avx2 fma', 'fpu avx512f avx512dq avx512bw avx512vl avx512_vnni amx_int8']) {
    assert.is(withFlags(flags), process.arch === 'x64');
    for (const flag of flags.match(/\b(avx2|fma|avx512\w+)\b/g) ?? []) {
      assert.is(withFlags(flags.replace(flag, `${flag}x`)), false, flag);
    }
  }
});

Processor('a machine without that file has no kernels', () => {
  assert.is(
    hasEngineKernels(() => ''),
    false,
  );
  assert.is(
    hasEngineKernels(() => {
      throw new Error('ENOENT');
    }),
    false,
  );
});

Processor.run();
