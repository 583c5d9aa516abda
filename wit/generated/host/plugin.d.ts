// Generated from wit/world.wit; do not edit.
// world aana:host/plugin@0.1.0
export type * as AanaHostAsr010 from './interfaces/aana-host-asr.js'; // import aana:host/asr@0.1.0
export type * as AanaHostDeployments010 from './interfaces/aana-host-deployments.js'; // import aana:host/deployments@0.1.0
export type * as AanaHostHttp010 from './interfaces/aana-host-http.js'; // import aana:host/http@0.1.0
export type * as AanaHostInvocation010 from './interfaces/aana-host-invocation.js'; // import aana:host/invocation@0.1.0
export type * as AanaHostLlm010 from './interfaces/aana-host-llm.js'; // import aana:host/llm@0.1.0
export type * as AanaHostLog010 from './interfaces/aana-host-log.js'; // import aana:host/log@0.1.0
export type * as AanaHostMedia010 from './interfaces/aana-host-media.js'; // import aana:host/media@0.1.0
export type * as AanaHostOutput010 from './interfaces/aana-host-output.js'; // import aana:host/output@0.1.0
export type * as AanaHostProgress010 from './interfaces/aana-host-progress.js'; // import aana:host/progress@0.1.0
export type * as AanaHostRandom010 from './interfaces/aana-host-random.js'; // import aana:host/random@0.1.0
export type * as AanaHostRemote010 from './interfaces/aana-host-remote.js'; // import aana:host/remote@0.1.0
export type * as AanaHostRepositoriesWrite010 from './interfaces/aana-host-repositories-write.js'; // import aana:host/repositories-write@0.1.0
export type * as AanaHostRepositories010 from './interfaces/aana-host-repositories.js'; // import aana:host/repositories@0.1.0
export type * as AanaHostStorage010 from './interfaces/aana-host-storage.js'; // import aana:host/storage@0.1.0
export type * as AanaHostTypes010 from './interfaces/aana-host-types.js'; // import aana:host/types@0.1.0
export * as endpoint from './interfaces/aana-host-endpoint.js'; // export aana:host/endpoint@0.1.0
