// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./interfaces/aana-host-asr.d.ts" />
/// <reference path="./interfaces/aana-host-concurrency.d.ts" />
/// <reference path="./interfaces/aana-host-crypto.d.ts" />
/// <reference path="./interfaces/aana-host-deployments.d.ts" />
/// <reference path="./interfaces/aana-host-endpoint.d.ts" />
/// <reference path="./interfaces/aana-host-http.d.ts" />
/// <reference path="./interfaces/aana-host-invocation.d.ts" />
/// <reference path="./interfaces/aana-host-llm.d.ts" />
/// <reference path="./interfaces/aana-host-log.d.ts" />
/// <reference path="./interfaces/aana-host-media.d.ts" />
/// <reference path="./interfaces/aana-host-ocr.d.ts" />
/// <reference path="./interfaces/aana-host-output.d.ts" />
/// <reference path="./interfaces/aana-host-progress.d.ts" />
/// <reference path="./interfaces/aana-host-random.d.ts" />
/// <reference path="./interfaces/aana-host-remote.d.ts" />
/// <reference path="./interfaces/aana-host-repositories-write.d.ts" />
/// <reference path="./interfaces/aana-host-repositories.d.ts" />
/// <reference path="./interfaces/aana-host-settings.d.ts" />
/// <reference path="./interfaces/aana-host-storage.d.ts" />
/// <reference path="./interfaces/aana-host-types.d.ts" />
/// <reference path="./interfaces/aana-host-uploads.d.ts" />
/// <reference path="./interfaces/aana-host-vectors.d.ts" />
declare module 'aana:host/plugin@0.1.0' {
  export type * as AanaHostAsr010 from 'aana:host/asr@0.1.0'; // import aana:host/asr@0.1.0
  export type * as AanaHostConcurrency010 from 'aana:host/concurrency@0.1.0'; // import aana:host/concurrency@0.1.0
  export type * as AanaHostCrypto010 from 'aana:host/crypto@0.1.0'; // import aana:host/crypto@0.1.0
  export type * as AanaHostDeployments010 from 'aana:host/deployments@0.1.0'; // import aana:host/deployments@0.1.0
  export type * as AanaHostHttp010 from 'aana:host/http@0.1.0'; // import aana:host/http@0.1.0
  export type * as AanaHostInvocation010 from 'aana:host/invocation@0.1.0'; // import aana:host/invocation@0.1.0
  export type * as AanaHostLlm010 from 'aana:host/llm@0.1.0'; // import aana:host/llm@0.1.0
  export type * as AanaHostLog010 from 'aana:host/log@0.1.0'; // import aana:host/log@0.1.0
  export type * as AanaHostMedia010 from 'aana:host/media@0.1.0'; // import aana:host/media@0.1.0
  export type * as AanaHostOcr010 from 'aana:host/ocr@0.1.0'; // import aana:host/ocr@0.1.0
  export type * as AanaHostOutput010 from 'aana:host/output@0.1.0'; // import aana:host/output@0.1.0
  export type * as AanaHostProgress010 from 'aana:host/progress@0.1.0'; // import aana:host/progress@0.1.0
  export type * as AanaHostRandom010 from 'aana:host/random@0.1.0'; // import aana:host/random@0.1.0
  export type * as AanaHostRemote010 from 'aana:host/remote@0.1.0'; // import aana:host/remote@0.1.0
  export type * as AanaHostRepositoriesWrite010 from 'aana:host/repositories-write@0.1.0';
    // import aana:host/repositories-write@0.1.0
  export type * as AanaHostRepositories010 from 'aana:host/repositories@0.1.0'; // import aana:host/repositories@0.1.0
  export type * as AanaHostSettings010 from 'aana:host/settings@0.1.0'; // import aana:host/settings@0.1.0
  export type * as AanaHostStorage010 from 'aana:host/storage@0.1.0'; // import aana:host/storage@0.1.0
  export type * as AanaHostTypes010 from 'aana:host/types@0.1.0'; // import aana:host/types@0.1.0
  export type * as AanaHostUploads010 from 'aana:host/uploads@0.1.0'; // import aana:host/uploads@0.1.0
  export type * as AanaHostVectors010 from 'aana:host/vectors@0.1.0'; // import aana:host/vectors@0.1.0
  export * as endpoint from 'aana:host/endpoint@0.1.0'; // export aana:host/endpoint@0.1.0
}
